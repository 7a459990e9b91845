//! What needs both crates and known truth: statistics against R and against scripted worlds, rules against made recordings,
//! parsers against hostile input.

mod analysis_says;
mod changes_of_the_host;
mod faults_of_a_guard;
mod figure;
mod findings;
mod hostile_input;
mod layers;
mod licences;
mod map_of_harm;
mod models_agree_with_r;
mod numbers_print_as_r;
mod open_ended_rule;
mod orders_and_analyses;
mod pathologies;
mod posted;
mod sequential_rule;
mod stacks_of_arms;
mod statistics_agree_with_r;
mod study_in_r;
mod tables_of_pairs;
mod verdict_is_right;
