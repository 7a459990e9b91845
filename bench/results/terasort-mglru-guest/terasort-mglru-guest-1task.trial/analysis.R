# terasort-mglru-guest-1task: every number of its report again, from its points.
# Rscript FILE prints each number with the stored one, and stops where they differ.
# Not in here: kernel counters and stall times, whose data the report does not carry.

alpha <- 0.05
counted <- 5 # blocks that count
planned <- 5 # blocks of the order
sequential <- FALSE # alpha was spent over analyses

points <- data.frame(
  `block` = c(1, 1, 1, 1, 2, 2, 2, 2,
    3, 3, 3, 3, 4, 4, 4, 4,
    5, 5, 5, 5),
  `order` = c(1, 2, 3, 4, 5, 6, 7, 8,
    9, 10, 11, 12, 13, 14, 15, 16,
    17, 18, 19, 20),
  `boot` = c(NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA),
  `cell` = c("off\u00b7off", "on\u00b7on", "off\u00b7on", "on\u00b7off", "on\u00b7off", "on\u00b7on", "off\u00b7on", "off\u00b7off",
    "off\u00b7on", "off\u00b7off", "on\u00b7off", "on\u00b7on", "on\u00b7off", "on\u00b7on", "off\u00b7off", "off\u00b7on",
    "on\u00b7on", "on\u00b7off", "off\u00b7on", "off\u00b7off"),
  `mglru` = c("off", "on", "off", "on", "on", "on", "off", "off",
    "off", "off", "on", "on", "on", "on", "off", "off",
    "on", "on", "off", "off"),
  `swap` = c("off", "on", "on", "off", "off", "on", "on", "off",
    "on", "off", "off", "on", "off", "on", "off", "on",
    "on", "off", "on", "off"),
  `attempt` = c(1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1),
  `outcome` = c("ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok"),
  `job_wall_mean` = c(60.014713524, 49.527704853, 44.657255623, 77.204824998, 49.599209537, 44.981590753, 42.004752535, 86.850777065,
    44.953725669, 75.08880333, 75.805907933, 48.179710393, 84.743188625, 52.309134296, 66.518631965, 53.83680891,
    57.622529199, 96.136108682, 51.904344478, 54.89649174),
  `major_faults` = c(8300, 8478, 7636, 7751, 7329, 6492, 6492, 8862,
    6794, 7976, 7856, 6502, 7969, 6513, 7789, 6975,
    6538, 8020, 6495, 7567),
  `refaults_file` = c(12025, 15289, 162, 12872, 13073, 3098, 27, 13021,
    1328, 11804, 13628, 3568, 13414, 2994, 11481, 3820,
    3196, 13402, 18, 12067),
  `pages_scanned` = c(42058, 83890, 194401, 38544, 38677, 58415, 178150, 44263,
    181373, 42629, 39682, 57620, 40684, 58968, 40261, 183280,
    58931, 40598, 178077, 40919),
  `pages_swapped_out` = c(0, 2106, 8438, 0, 0, 323, 253, 0,
    899, 0, 0, 322, 0, 325, 0, 1819,
    324, 0, 255, 0),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "off\u00b7off", values = list(
    list(metric = "job_wall_mean", stored = c(5, 68.6738835248, 12.658924852249118, 66.518631965)),
    list(metric = "major_faults", stored = c(5, 8098.8, 504.1881593214978, 7976)),
    list(metric = "refaults_file", stored = c(5, 12079.6, 575.2502064319491, 12025)),
    list(metric = "pages_scanned", stored = c(5, 42026, 1558.001604620483, 42058)),
    list(metric = "pages_swapped_out", stored = c(5, 0, 0, 0)))),
  list(cell = "off\u00b7on", values = list(
    list(metric = "job_wall_mean", stored = c(5, 47.471377442999994, 5.10665630457352, 44.953725669)),
    list(metric = "major_faults", stored = c(5, 6878.4, 470.82725069817275, 6794)),
    list(metric = "refaults_file", stored = c(5, 1071, 1631.569489785832, 162)),
    list(metric = "pages_scanned", stored = c(5, 183056.2, 6716.601945924739, 181373)),
    list(metric = "pages_swapped_out", stored = c(5, 2332.8, 3472.60927833812, 899)))),
  list(cell = "on\u00b7off", values = list(
    list(metric = "job_wall_mean", stored = c(5, 76.697847955, 17.160727500762217, 77.204824998)),
    list(metric = "major_faults", stored = c(5, 7785, 275.32435417158433, 7856)),
    list(metric = "refaults_file", stored = c(5, 13277.8, 301.3439894870976, 13402)),
    list(metric = "pages_scanned", stored = c(5, 39637, 1017.1042227815201, 39682)),
    list(metric = "pages_swapped_out", stored = c(5, 0, 0, 0)))),
  list(cell = "on\u00b7on", values = list(
    list(metric = "job_wall_mean", stored = c(5, 50.524133898799995, 4.763990428118575, 49.527704853)),
    list(metric = "major_faults", stored = c(5, 6904.6, 879.7242749862027, 6513)),
    list(metric = "refaults_file", stored = c(5, 5629, 5404.4425244422755, 3196)),
    list(metric = "pages_scanned", stored = c(5, 63564.8, 11375.164996605543, 58931)),
    list(metric = "pages_swapped_out", stored = c(5, 680, 797.1590180133447, 324)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "mglru: off \u2192 on, swap off", metric = "job_wall_mean",
    primary = TRUE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.025, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.2518721974925153, -0.5602165430050592, 0.009504773171103764, 0.24214328448065636, 0.5603155423696027),
    a = c(5, 68.6738835248, 12.658924852249118, 66.518631965), b = c(5, 76.697847955, 17.160727500762217, 77.204824998),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = 0.6186832404245448, conclusion = "inconclusive",
    effect = list(log_ratio = 0.10072385090176379, standard_error = 0.1869803366903724, df = 4, p = 0.6186832404245448,
      ratio = 1.1059711866439197, interval = c(0.5753088066926133, 2.1261142736862353), equivalence = c(0.6580878870239035, 1.85867615831399), alone = c(0.6580878870239035, 1.85867615831399),
      randomisation_p = 0.5625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap off", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.06843364750317882, -0.18993339183358593, -0.015159461607373359, 0.022846532477799997, 0.058141734166037295),
    a = c(5, 8098.8, 504.1881593214978, 7976), b = c(5, 7785, 275.32435417158433, 7856),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.03850764686006016, standard_error = 0.04328735247437931, df = 4, p = 0.4239571500185477,
      ratio = 0.9622243467167588, interval = c(0.8532586062990146, 1.0851056017242573), equivalence = c(0.8774023164521273, 1.0552464656787932), alone = c(0.8532586062990146, 1.0851056017242573),
      randomisation_p = 0.5, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap off", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.06806659369825852, 0.003985595833132294, 0.1436880427180256, 0.15560544256586972, 0.10492949545951546),
    a = c(5, 12079.6, 575.2502064319491, 12025), b = c(5, 13277.8, 301.3439894870976, 13402),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.09525503405496032, standard_error = 0.027523485409206846, df = 4, p = 0.025797440414820696,
      ratio = 1.099939341348248, interval = c(1.019016134435697, 1.1872889091354848), equivalence = c(1.0372564308724277, 1.1664102710146695), alone = c(1.019016134435697, 1.1872889091354848),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap off", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.08724917215399763, -0.13490400550326953, -0.07163708847077821, 0.010451636310747858, -0.007875698546575549),
    a = c(5, 42026, 1558.001604620483, 42058), b = c(5, 39637, 1017.1042227815201, 39682),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.05824286567277461, standard_error = 0.026602149825943142, df = 4, p = 0.09375438685443617,
      ratio = 0.9434207950851969, interval = c(0.8762513724614469, 1.0157391184438287), equivalence = c(0.8914066366591292, 0.998470013567483), alone = c(0.8762513724614469, 1.0157391184438287),
      randomisation_p = 0.1875, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap off", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(), differences = c(),
    a = c(5, 0, 0, 0), b = c(5, 0, 0, 0),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = NULL),
  list(name = "mglru: off \u2192 on, swap on", metric = "job_wall_mean",
    primary = TRUE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.025, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.10351541292834865, 0.06847054421361332, 0.06930434400903351, -0.02878640595407367, 0.1045111278563211),
    a = c(5, 47.471377442999994, 5.10665630457352, 44.953725669), b = c(5, 50.524133898799995, 4.763990428118575, 49.527704853),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = 0.11961223324721955, conclusion = "inconclusive",
    effect = list(log_ratio = 0.06340300461064859, standard_error = 0.02434982164454266, df = 4, p = 0.059806116623609774,
      ratio = 1.0654561364565505, interval = c(0.9785244488369589, 1.1601107974994145), equivalence = c(0.9958058814783197, 1.1399779814793496), alone = c(0.9958058814783197, 1.1399779814793496),
      randomisation_p = 0.125, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.10460066706694349, 0, -0.0439300478566782, -0.06853214814316466, 0.006598658179456152),
    a = c(5, 6878.4, 470.82725069817275, 6794), b = c(5, 6904.6, 879.7242749862027, 6513),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "equivalent",
    effect = list(log_ratio = -0.00025257415068864476, standard_error = 0.029674085753328257, df = 4, p = 0.9936163912334889,
      ratio = 0.9997474577434768, interval = c(0.9206815718183762, 1.085603328945218), equivalence = c(0.9384617516999412, 1.0650353916438764), alone = c(0.9206815718183762, 1.085603328945218),
      randomisation_p = 1, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(4.5472925593282305, 4.742675154972485, 0.9883311636635215, -0.2436401366210461, 5.179283548990001),
    a = c(5, 1071, 1631.569489785832, 162), b = c(5, 5629, 5404.4425244422755, 3196),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 3.042788458066638, standard_error = 1.1121862777672877, df = 4, p = 0.05212712724700559,
      ratio = 20.963617979165285, interval = c(0.9558677723785243, 459.7636738843314), equivalence = c(1.9577144894053446, 224.48282482185218), alone = c(0.9558677723785243, 459.7636738843314),
      randomisation_p = 0.125, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.8404166191878275, -1.1150531858827328, -1.1466859546091577, -1.1340201142582522, -1.1058487730327098),
    a = c(5, 183056.2, 6716.601945924739, 181373), b = c(5, 63564.8, 11375.164996605543, 58931),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.068404929394136, standard_error = 0.05744129274487598, df = 4, p = 0.000049179219461539434,
      ratio = 0.34355607680424866, interval = c(0.29291069095037386, 0.40295824480207876), equivalence = c(0.3039594530079989, 0.38831093009639256), alone = c(0.29291069095037386, 0.40295824480207876),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-1.3879548999903628, 0.24426283449513608, -1.0267314889272114, -1.7222169961883846, 0.23947997063390325),
    a = c(5, 2332.8, 3472.60927833812, 899), b = c(5, 680, 797.1590180133447, 324),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.7306321159953839, standard_error = 0.41197853589434985, df = 4, p = 0.15082779649421466,
      ratio = 0.4816044639673037, interval = c(0.15343658790384798, 1.5116528781165444), equivalence = c(0.20010616389832359, 1.159099026210342), alone = c(0.15343658790384798, 1.5116528781165444),
      randomisation_p = 0.25, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "job_wall_mean",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.14835678456416712, 0.6286870872186725, 0.05979957083792975, -0.2709296904347305, -0.45580441451328113),
    a = c(5, 47.471377442999994, 5.10665630457352, 44.953725669), b = c(5, 50.524133898799995, 4.763990428118575, 49.527704853),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.037320846291115296, standard_error = 0.18641747657389135, df = 4, p = 0.8510904382975715,
      ratio = 0.9633669930314254, interval = c(0.5741303966213276, 1.6164898579207791), equivalence = c(0.6474366392476482, 1.4334622216328046), alone = c(0.5741303966213276, 1.6164898579207791),
      randomisation_p = 0.875, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.1730343145701223, 0.18993339183358593, -0.02877058624930484, -0.09137868062096466, -0.051543075986581144),
    a = c(5, 6878.4, 470.82725069817275, 6794), b = c(5, 6904.6, 879.7242749862027, 6513),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.03825507270937152, standard_error = 0.05938552559314494, df = 4, p = 0.5545372335007122,
      ratio = 1.038996218662261, interval = c(0.8810634993965261, 1.2252387519558767), equivalence = c(0.915444289571464, 1.1792231976233274), alone = c(0.8810634993965261, 1.2252387519558767),
      randomisation_p = 0.5, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(4.479225965629972, 4.7386895591393525, 0.844643120945495, -0.39924557918691583, 5.074354053530485),
    a = c(5, 1071, 1631.569489785832, 162), b = c(5, 5629, 5404.4425244422755, 3196),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 2.947533424011678, standard_error = 1.1335952905596898, df = 4, p = 0.060037782414149796,
      ratio = 19.05888551405862, interval = c(0.8188685802024318, 443.5890273726182), equivalence = c(1.7004313375291131, 213.6170446998566), alone = c(0.8188685802024318, 443.5890273726182),
      randomisation_p = 0.125, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.7531674470338299, -0.9801491803794633, -1.0750488661383795, -1.144471750569, -1.0979730744861342),
    a = c(5, 183056.2, 6716.601945924739, 181373), b = c(5, 63564.8, 11375.164996605543, 58931),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.0101620637213613, standard_error = 0.0696086089838795, df = 4, p = 0.00013110357186642404,
      ratio = 0.3641599576710871, interval = c(0.3001639224414676, 0.4418001793565567), equivalence = c(0.3139388827054647, 0.4224149414949153), alone = c(0.3001639224414676, 0.4418001793565567),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(), differences = c(),
    a = c(5, 2332.8, 3472.60927833812, 899), b = c(5, 680, 797.1590180133447, 324),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = NULL),
  list(name = "swap: off \u2192 on, mglru off", metric = "job_wall_mean",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.29557296348323936, -0.7264086723779224, -0.5130378152870994, -0.21152467463731117, -0.05604694844092295),
    a = c(5, 68.6738835248, 12.658924852249118, 66.518631965), b = c(5, 47.471377442999994, 5.10665630457352, 44.953725669),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.36051821484529906, standard_error = 0.11752824515758624, df = 4, p = 0.037383859232000154,
      ratio = 0.6973148735047792, interval = c(0.5031691234683395, 0.9663709677956457), equivalence = c(0.5427695630363379, 0.8958645913946213), alone = c(0.5031691234683395, 0.9663709677956457),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru off", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.08338160893905133, -0.3112018231249536, -0.1603971629211447, -0.11038015423038239, -0.15276403758982227),
    a = c(5, 8098.8, 504.1881593214978, 7976), b = c(5, 6878.4, 470.82725069817275, 6794),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.16362495736107086, standard_error = 0.039485005742888254, df = 4, p = 0.014330156976560203,
      ratio = 0.8490603960260709, interval = c(0.7609003252962636, 0.947434942703248), equivalence = c(0.7805152972197581, 0.923625146961052), alone = c(0.7609003252962636, 0.947434942703248),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru off", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-4.307146759741578, -6.178481851724399, -2.184764406026452, -1.1004430724931922, -6.507857975177436),
    a = c(5, 12079.6, 575.2502064319491, 12025), b = c(5, 1071, 1631.569489785832, 162),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -4.055738813032612, standard_error = 1.0680929382563855, df = 4, p = 0.019150116658203178,
      ratio = 0.01732267723485504, interval = c(0.000892717636737561, 0.33613668447236084), equivalence = c(0.0017771411329130264, 0.1688527382690719), alone = c(0.000892717636737561, 0.33613668447236084),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru off", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(1.5308734180195174, 1.3924767784336272, 1.448020911422482, 1.5156317796926366, 1.4706215381669967),
    a = c(5, 42026, 1558.001604620483, 42058), b = c(5, 183056.2, 6716.601945924739, 181373),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 1.471524885147052, standard_error = 0.024768450185829228, df = 4, p = 0.0000004806802907700575,
      ratio = 4.355872284284844, interval = c(4.066394126962559, 4.665957790759805), equivalence = c(4.131837999681179, 4.5920540346608245), alone = c(4.066394126962559, 4.665957790759805),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru off", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(), differences = c(),
    a = c(5, 0, 0, 0), b = c(5, 2332.8, 3472.60927833812, 899),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = NULL),
  list(name = "swap: off \u2192 on, mglru on", metric = "job_wall_mean",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.44392974804740604, -0.09772158515924989, -0.4532382444491696, -0.4824543650720412, -0.5118513629542045),
    a = c(5, 76.697847955, 17.160727500762217, 77.204824998), b = c(5, 50.524133898799995, 4.763990428118575, 49.527704853),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.39783906113641426, standard_error = 0.07596791261593956, df = 4, p = 0.00635353037203631,
      ratio = 0.6717701328843879, interval = c(0.5440251507105851, 0.829511486456223), equivalence = c(0.5713284524431588, 0.7898698367037922), alone = c(0.5440251507105851, 0.829511486456223),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru on", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.08965270563107097, -0.12126843129136766, -0.18916774917044954, -0.20175883485134705, -0.2043071135764034),
    a = c(5, 7785, 275.32435417158433, 7856), b = c(5, 6904.6, 879.7242749862027, 6513),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.12536988465169935, standard_error = 0.055851616624609565, df = 4, p = 0.0881617695898587,
      ratio = 0.8821705408869696, interval = c(0.7554521519400165, 1.0301444786546852), equivalence = c(0.783145345278359, 0.9937170257102125), alone = c(0.7554521519400165, 1.0301444786546852),
      randomisation_p = 0.125, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru on", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.17207920588839443, -1.4397922925850466, -1.340121285080956, -1.499688651680108, -1.4335039216469507),
    a = c(5, 13277.8, 301.3439894870976, 13402), b = c(5, 5629, 5404.4425244422755, 3196),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.1082053890209334, standard_error = 0.3210873542895775, df = 4, p = 0.026020839545458332,
      ratio = 0.3301509222160918, interval = c(0.1353776765908143, 0.8051521800717019), equivalence = c(0.16650758194465407, 0.654622631396849), alone = c(0.1353776765908143, 0.8051521800717019),
      randomisation_p = 0.125, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru on", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.7777059709856875, 0.41232759805416386, 0.37297204528410255, 0.37116002912363655, 0.37264846368086246),
    a = c(5, 39637, 1017.1042227815201, 39682), b = c(5, 63564.8, 11375.164996605543, 58931),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.4613628214256906, standard_error = 0.07946607820973402, df = 4, p = 0.004378727504813745,
      ratio = 1.5862342666658305, interval = c(1.2721770144650053, 1.977821576821217), equivalence = c(1.3390405070541853, 1.8790612647560987), alone = c(1.2721770144650053, 1.977821576821217),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru on", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(), differences = c(),
    a = c(5, 0, 0, 0), b = c(5, 680, 797.1590180133447, 324),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = NULL),
  NULL)

# ---- What follows is the same for every study ----

cells <- Filter(Negate(is.null), cells)
comparisons <- Filter(Negate(is.null), comparisons)

same <- function(what, ours, stored) {
  shown <- function(x) paste(format(x, digits = 10, trim = TRUE), collapse = " ")
  cat(sprintf("  %-34s %s | stored %s\n", what, shown(ours), shown(stored)))
  stopifnot(all.equal(as.numeric(stored), as.numeric(ours), tolerance = 1e-9))
}

# A result is the last attempt at a cell in a block that is not invalid; a good run is a result that ended well.
results <- points[points$outcome != "invalid" & points$block <= counted, ]
results <- results[order(results$order, results$attempt), ]
results <- results[!duplicated(results[c("block", "cell")], fromLast = TRUE), ]
good <- results[results$outcome == "ok", ]

value <- function(block, cell, metric) {
  found <- good[[metric]][good$block == block & good$cell == cell]
  if (length(found) == 1 && is.finite(found)) found else NA
}

# n, mean, SD and median of the good runs of some cells.
summarised <- function(cells, metric) {
  x <- good[[metric]][good$cell %in% cells]
  x <- x[is.finite(x)]
  if (length(x) == 0) return(c(0, NA, NA, NA))
  # In a unit of the largest value: squares overflow above 1e154.
  unit <- if (is.finite(sd(x)) || length(x) < 2) 1 else max(abs(x))
  c(length(x), mean(x), if (length(x) > 1) sd(x / unit) * unit else NA, median(x))
}

group_of <- function(one, sign) Filter(function(group) group$sign == sign, one$groups)[[1]]$cells

# ln(b / a) inside every block: the signed sum of the groups' mean logarithms.
differences <- function(one) {
  sapply(seq_len(counted), function(block) {
    sum(sapply(one$groups, function(group) {
      group$sign * mean(suppressWarnings(log(sapply(group$cells, value, block = block, metric = one$metric))))
    }))
  })
}

# Whether the base ran first in a pair.
a_first <- function(one, block) {
  place <- function(cell) results$order[results$block == block & results$cell == cell]
  place(group_of(one, 1)) > place(group_of(one, -1))
}

estimate <- function(one, difference) {
  in_blocks <- which(!is.na(difference))
  d <- difference[in_blocks]
  if (one$method == "pairs") {
    # Crossover (Hills and Armitage 1979): half the sum of the two orders' means.
    first <- sapply(in_blocks, a_first, one = one)
    ab <- d[first]
    ba <- d[!first]
    df <- length(d) - 2
    s <- sqrt((sum((ab - mean(ab))^2) + sum((ba - mean(ba))^2)) / df)
    list(effect = (mean(ab) + mean(ba)) / 2, se = s / 2 * sqrt(1 / length(ab) + 1 / length(ba)), df = df)
  } else {
    list(effect = mean(d), se = sd(d) / sqrt(length(d)), df = length(d) - 1)
  }
}

p_of <- function(e) if (e$se > 0) 2 * pt(-abs(e$effect / e$se), e$df) else if (e$effect == 0) 1 else 0

ends <- function(e, level) e$effect + c(-1, 1) * qt(1 - level / 2, e$df) * e$se

# alpha / m for every claim, except those that Holm makes in a later step: they get the alpha of their step.
shared <- function(p, alpha) {
  m <- length(p)
  level <- rep(alpha / m, m)
  claimed <- 0
  for (i in order(p)) {
    step <- alpha / (m - claimed)
    if (!(p[i] < step)) break
    if (p[i] >= alpha / m) level[i] <- step
    claimed <- claimed + 1
  }
  level
}

# How often the same runs would look this different, had the order been drawn otherwise. NULL: too many to try here.
randomisation <- function(one, difference) {
  d <- difference[!is.na(difference)]
  if (one$method == "pairs") {
    second_minus_first <- difference
    for (block in which(!is.na(difference))) if (!a_first(one, block)) second_minus_first[block] <- -difference[block]
    w <- c(second_minus_first, rep(NA, planned - counted))
    effects <- unlist(lapply(unique(c(planned %/% 2, (planned + 1) %/% 2)), function(n) {
      apply(combn(planned, n), 2, function(ab) {
        is_ab <- seq_len(planned) %in% ab
        abs(mean(w[is_ab], na.rm = TRUE) - mean(w[!is_ab], na.rm = TRUE)) / 2
      })
    }))
    effects <- effects[is.finite(effects)]
    observed <- abs(estimate(one, difference)$effect)
    max(mean(effects >= observed - 1e-10 * max(abs(w), na.rm = TRUE)), one$effect$smallest)
  } else {
    signs <- as.matrix(expand.grid(c(list(1), rep(list(c(1, -1)), length(d) - 1))))
    mean(abs(signs %*% d) >= abs(sum(d)) - 1e-12 * sum(abs(d)))
  }
}

conclusion <- function(one, e, level) {
  o <- one$outcomes
  share <- function(bad, total) if (total == 0) 0 else bad / total
  a <- share(o[1], o[2])
  b <- share(o[3], o[4])
  if (one$outcomes_p <= (if (is.na(one$level_of_failures)) level else one$level_of_failures)) return(if (b > a) "worse" else "better")
  if (is.null(e)) return("inconclusive")
  margin <- log1p(one$margin)
  difference <- ends(e, level)
  equivalence <- ends(e, 2 * level)
  word <- if (-margin < equivalence[1] && equivalence[2] < margin) "equivalent"
    else if (difference[1] <= 0 && difference[2] >= 0) "inconclusive"
    else if ((difference[2] < 0) == one$lower_is_better) "better" else "worse"
  b_more <- o[3] > o[1] || b > a
  a_more <- o[1] > o[3] || a > b
  held_back <- switch(word, better = b_more, worse = a_more, equivalent = a_more || b_more, FALSE)
  if (held_back) "inconclusive" else word
}

for (cell in cells) for (of in cell$values) {
  cat(sprintf("%s, %s\n", cell$cell, of$metric))
  same("n, mean, SD, median", summarised(cell$cell, of$metric), of$stored)
}

found <- lapply(comparisons, function(one) {
  if (length(one$groups) == 0 || !one$method %in% c("pairs", "blocks")) return(NULL)
  difference <- differences(one)
  list(difference = difference, e = if (is.null(one$effect)) NULL else estimate(one, difference))
})

# A claim without an estimate keeps its place in the family: it was declared. One whose method base R does not have takes it by
# the p that the report says.
is_primary <- sapply(comparisons, function(one) one$primary)
p <- mapply(function(f, one) {
  if (is.null(f)) (if (is.null(one$effect)) 1 else one$effect$p) else if (is.null(f$e)) 1 else p_of(f$e)
}, found, comparisons)
level <- rep(alpha, length(comparisons))
level[is_primary] <- if (sequential) sapply(comparisons[is_primary], function(one) one$level) else shared(p[is_primary], alpha)
holm <- rep(NA, length(comparisons))
if (!sequential) holm[is_primary] <- p.adjust(p[is_primary], "holm")

for (i in seq_along(comparisons)) {
  one <- comparisons[[i]]
  f <- found[[i]]
  cat(sprintf("%s, %s\n", one$name, one$metric))
  if (is.null(f)) {
    cat("  estimated by a method that base R does not have\n")
    next
  }
  same("n, mean, SD, median of a", summarised(group_of(one, -1), one$metric), one$a)
  same("n, mean, SD, median of b", summarised(group_of(one, 1), one$metric), one$b)
  o <- one$outcomes
  same("p of failures (Fisher)", fisher.test(matrix(c(o[1], o[2] - o[1], o[3], o[4] - o[3]), 2))$p.value, one$outcomes_p)
  same("level", level[i], one$level)
  if (is.null(f$e)) {
    cat("  no estimate\n")
  } else {
    same("blocks", which(!is.na(f$difference)), one$blocks)
    same("ln(b / a) in each block", f$difference[!is.na(f$difference)], one$differences)
    stored <- one$effect
    same("ln(b / a)", f$e$effect, stored$log_ratio)
    same("standard error", f$e$se, stored$standard_error)
    same("degrees of freedom", f$e$df, stored$df)
    same("p (t test)", p[i], stored$p)
    same("ratio", exp(f$e$effect), stored$ratio)
    same("interval at its level", exp(ends(f$e, level[i])), stored$interval)
    same("interval for equivalence", exp(ends(f$e, 2 * level[i])), stored$equivalence)
    same("interval as if alone", exp(ends(f$e, alpha)), stored$alone)
    if (stored$exact) same("p (randomisation)", randomisation(one, f$difference), stored$randomisation_p)
  }
  if (one$primary && !sequential) same("p (Holm)", holm[i], one$holm_p)
  said <- conclusion(one, f$e, level[i])
  cat(sprintf("  %-34s %s | stored %s\n", "verdict", said, one$conclusion))
  stopifnot(said == one$conclusion)
}
cat("all numbers agree\n")
