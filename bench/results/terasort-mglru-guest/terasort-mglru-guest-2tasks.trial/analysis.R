# terasort-mglru-guest-2tasks: every number of its report again, from its points.
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
  `cell` = c("off\u00b7on", "on\u00b7off", "on\u00b7on", "off\u00b7off", "off\u00b7on", "on\u00b7off", "off\u00b7off", "on\u00b7on",
    "on\u00b7off", "off\u00b7off", "on\u00b7on", "off\u00b7on", "on\u00b7off", "on\u00b7on", "off\u00b7off", "off\u00b7on",
    "off\u00b7off", "off\u00b7on", "on\u00b7on", "on\u00b7off"),
  `mglru` = c("off", "on", "on", "off", "off", "on", "off", "on",
    "on", "off", "on", "off", "on", "on", "off", "off",
    "off", "off", "on", "on"),
  `swap` = c("on", "off", "on", "off", "on", "off", "off", "on",
    "off", "off", "on", "on", "off", "on", "off", "on",
    "off", "on", "on", "off"),
  `attempt` = c(1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1),
  `outcome` = c("ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok"),
  `job_wall_mean` = c(51.879463428, 82.42649968, 49.203733745, 77.873962091, 43.726634897, 70.630472226, 75.164449908, 50.332462986,
    56.012572167, 78.959632464, 53.023354671, 48.069972268, 78.214721028, 59.478131548, 87.821242025, 54.606360436,
    89.840488326, 53.472264642, 54.637350097, 90.04659098),
  `major_faults` = c(6810, 8192, 6512, 8725, 6554, 7797, 8151, 8254,
    7984, 8668, 6629, 6518, 8016, 6515, 8287, 7584,
    8410, 6618, 7703, 7535),
  `refaults_file` = c(1687, 13780, 4370, 13011, 2784, 13257, 12023, 1844,
    13257, 12590, 202, 49, 13586, 3033, 11967, 113,
    12168, 228, 1292, 12616),
  `pages_scanned` = c(184343, 43898, 62053, 43993, 182393, 42185, 43716, 61543,
    40652, 44287, 56599, 198896, 42126, 56776, 42706, 207784,
    42910, 181644, 54900, 42138),
  `pages_swapped_out` = c(1186, 0, 323, 0, 247, 0, 0, 325,
    0, 0, 326, 255, 0, 328, 0, 7981,
    0, 358, 325, 0),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "off\u00b7off", values = list(
    list(metric = "job_wall_mean", stored = c(5, 81.9319549628, 6.4870974616742085, 78.959632464)),
    list(metric = "major_faults", stored = c(5, 8448.2, 245.30735822636873, 8410)),
    list(metric = "refaults_file", stored = c(5, 12351.8, 441.94083314398546, 12168)),
    list(metric = "pages_scanned", stored = c(5, 43522.4, 686.4949380731077, 43716)),
    list(metric = "pages_swapped_out", stored = c(5, 0, 0, 0)))),
  list(cell = "off\u00b7on", values = list(
    list(metric = "job_wall_mean", stored = c(5, 50.350939134200004, 4.451738041761923, 51.879463428)),
    list(metric = "major_faults", stored = c(5, 6816.8, 443.426656844173, 6618)),
    list(metric = "refaults_file", stored = c(5, 972.2, 1218.3918499399115, 228)),
    list(metric = "pages_scanned", stored = c(5, 191012, 11725.821783568092, 184343)),
    list(metric = "pages_swapped_out", stored = c(5, 2005.4, 3363.3691887748514, 358)))),
  list(cell = "on\u00b7off", values = list(
    list(metric = "job_wall_mean", stored = c(5, 75.46617121620001, 12.946194803603456, 78.214721028)),
    list(metric = "major_faults", stored = c(5, 7904.8, 249.7472722573762, 7984)),
    list(metric = "refaults_file", stored = c(5, 13299.2, 442.6473765877304, 13257)),
    list(metric = "pages_scanned", stored = c(5, 42199.8, 1149.8970388691328, 42138)),
    list(metric = "pages_swapped_out", stored = c(5, 0, 0, 0)))),
  list(cell = "on\u00b7on", values = list(
    list(metric = "job_wall_mean", stored = c(5, 53.3350066094, 4.050120158470599, 53.023354671)),
    list(metric = "major_faults", stored = c(5, 7122.6, 806.6258736241977, 6629)),
    list(metric = "refaults_file", stored = c(5, 2148.2, 1607.2162891160606, 1844)),
    list(metric = "pages_scanned", stored = c(5, 58374.2, 3215.2179863891033, 56776)),
    list(metric = "pages_swapped_out", stored = c(5, 325.4, 1.816590212458495, 325)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "mglru: off \u2192 on, swap off", metric = "job_wall_mean",
    primary = TRUE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.025, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.05681533413773732, -0.06221670928264622, -0.3433605718828776, -0.11584552960792305, 0.0022914680140369015),
    a = c(5, 81.9319549628, 6.4870974616742085, 78.959632464), b = c(5, 75.46617121620001, 12.946194803603456, 78.214721028),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = 0.3161749593711708, conclusion = "inconclusive",
    effect = list(log_ratio = -0.09246320172433453, standard_error = 0.06916415351217182, df = 4, p = 0.2522337608684878,
      ratio = 0.9116827587006826, interval = c(0.7158962718543183, 1.1610138021241514), equivalence = c(0.7523951126940114, 1.1046927850661235), alone = c(0.7523951126940114, 1.1046927850661235),
      randomisation_p = 0.25, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap off", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.06303439979133962, -0.04440157478485851, -0.08219854466494958, -0.0332484775243973, -0.10986264190639794),
    a = c(5, 8448.2, 245.30735822636873, 8410), b = c(5, 7904.8, 249.7472722573762, 7984),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.06654912773438859, standard_error = 0.013661561914308083, df = 4, p = 0.008212171179098034,
      ratio = 0.9356169499862321, interval = c(0.9007930793206967, 0.9717870809594559), equivalence = c(0.9087606919944645, 0.9632668807233925), alone = c(0.9007930793206967, 0.9717870809594559),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap off", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.057423112064173054, 0.0977042328239417, 0.05162286676045724, 0.12688698917773245, 0.03615629470374593),
    a = c(5, 12351.8, 441.94083314398546, 12168), b = c(5, 13299.2, 442.6473765877304, 13257),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.07395869910601008, standard_error = 0.016683211749307963, df = 4, p = 0.011394437648363736,
      ratio = 1.076762333330875, interval = c(1.0280241690500393, 1.127811152097257), equivalence = c(1.039139168444936, 1.1157476858611817), alone = c(1.0280241690500393, 1.127811152097257),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap off", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7off")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.0021617693961051287, -0.03564946019683646, -0.08564314498499392, -0.013674298322555956, -0.0181549525984952),
    a = c(5, 43522.4, 686.4949380731077, 43716), b = c(5, 42199.8, 1149.8970388691328, 42138),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "equivalent",
    effect = list(log_ratio = -0.031056725099797334, standard_error = 0.014670196677301926, df = 4, p = 0.10168571711552132,
      ratio = 0.9694205810371214, interval = c(0.9307284490799846, 1.0097212176841794), equivalence = c(0.9395715206447502, 1.0002179102804853), alone = c(0.9307284490799846, 1.0097212176841794),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
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
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.052953507090160556, 0.14069284568252582, 0.09807476566536844, 0.08545834051681744, 0.02155461502341849),
    a = c(5, 50.350939134200004, 4.451738041761923, 51.879463428), b = c(5, 53.3350066094, 4.050120158470599, 53.023354671),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = 0.3161749593711708, conclusion = "inconclusive",
    effect = list(log_ratio = 0.05856541195959393, standard_error = 0.03379008908128462, df = 4, p = 0.1580874796855854,
      ratio = 1.0603143406650588, interval = c(0.9421934487561863, 1.193243810497888), equivalence = c(0.9653631613105531, 1.164604727089132), alone = c(0.9653631613105531, 1.164604727089132),
      randomisation_p = 0.1875, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.044745491461181786, 0.23062238105376842, 0.016886382843884107, -0.15193355437591372, 0.15181665387140697),
    a = c(5, 6816.8, 443.426656844173, 6618), b = c(5, 7122.6, 806.6258736241977, 6629),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.0405292743863928, standard_error = 0.06833483097993813, df = 4, p = 0.5850240557618727,
      ratio = 1.04136179448385, interval = c(0.8613979961789808, 1.2589237400377016), equivalence = c(0.9001893801250287, 1.2046736064138033), alone = c(0.8613979961789808, 1.2589237400377016),
      randomisation_p = 0.625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.9518112055436667, -0.4119516173377713, 1.4164473992905786, 3.2899196889762408, 1.7346010553881062),
    a = c(5, 972.2, 1218.3918499399115, 228), b = c(5, 2148.2, 1607.2162891160606, 1844),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 1.396165546372164, standard_error = 0.5986648961592109, df = 4, p = 0.08006490699778517,
      ratio = 4.039680264425384, interval = c(0.7664432093959014, 21.291879735812827), equivalence = c(1.1273882917223195, 14.475063080402634), alone = c(0.7664432093959014, 21.291879735812827),
      randomisation_p = 0.125, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-1.0888092941206384, -1.0864275822238323, -1.2567907578408235, -1.2973853773654067, -1.1965353790529427),
    a = c(5, 191012, 11725.821783568092, 184343), b = c(5, 58374.2, 3215.2179863891033, 56776),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.1851896781207287, standard_error = 0.0429455728112232, df = 4, p = 0.000010253719880374253,
      ratio = 0.3056881916376526, interval = c(0.2713283131990238, 0.3443992608252223), equivalence = c(0.27894432766111477, 0.33499613091334646), alone = c(0.2713283131990238, 0.3443992608252223),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-1.3006892563350148, 0.27443684570175986, 0.24563383620828194, -3.191805387491864, -0.09670780407096302),
    a = c(5, 2005.4, 3363.3691887748514, 358), b = c(5, 325.4, 1.816590212458495, 325),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.81382635319756, standard_error = 0.6600322518828371, df = 4, p = 0.2850808715894356,
      ratio = 0.4431591345679086, interval = c(0.07090816653616082, 2.769638930810957), equivalence = c(0.10850988672691413, 1.809881334087379), alone = c(0.07090816653616082, 2.769638930810957),
      randomisation_p = 0.4375, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "job_wall_mean",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.10976884122789787, 0.2029095549651716, 0.44143533754824604, 0.2013038701247405, 0.01926314700938203),
    a = c(5, 50.350939134200004, 4.451738041761923, 51.879463428), b = c(5, 53.3350066094, 4.050120158470599, 53.023354671),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.15102861368392845, standard_error = 0.09352345947420633, df = 4, p = 0.1816395728725375,
      ratio = 1.1630299361767067, interval = c(0.8970585574693389, 1.5078599063355203), equivalence = c(0.9528011320211497, 1.419644233182092), alone = c(0.8970585574693389, 1.5078599063355203),
      randomisation_p = 0.1875, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.018288908330157838, 0.27502395583862693, 0.09908492750883369, -0.11868507685151641, 0.2616792957778049),
    a = c(5, 6816.8, 443.426656844173, 6618), b = c(5, 7122.6, 806.6258736241977, 6629),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.10707840212078139, standard_error = 0.07450629624897019, df = 4, p = 0.22403492820821386,
      ratio = 1.1130215143058, interval = c(0.9050326673574655, 1.3688090341807235), equivalence = c(0.9495590062616215, 1.3046233916360315), alone = c(0.9050326673574655, 1.3688090341807235),
      randomisation_p = 0.3125, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.8943880934794937, -0.5096558501617121, 1.3648245325301218, 3.1630326997985083, 1.6984447606843602),
    a = c(5, 972.2, 1218.3918499399115, 228), b = c(5, 2148.2, 1607.2162891160606, 1844),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 1.3222068472661543, standard_error = 0.5945906525611246, df = 4, p = 0.09023767166836136,
      ratio = 3.7516916587609175, interval = c(0.7199010840790316, 19.551561476563982), equivalence = c(1.0561504803083384, 13.326879611234054), alone = c(0.7199010840790316, 19.551561476563982),
      randomisation_p = 0.125, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-1.0866475247245333, -1.0507781220269958, -1.1711476128558296, -1.2837110790428508, -1.1783804264544475),
    a = c(5, 191012, 11725.821783568092, 184343), b = c(5, 58374.2, 3215.2179863891033, 56776),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -1.1541329530209314, standard_error = 0.04056133225295494, df = 4, p = 0.000009078395527579525,
      ratio = 0.3153308250487278, interval = c(0.281746016265541, 0.35291902453093393), equivalence = c(0.2892096275889203, 0.34381126954475116), alone = c(0.281746016265541, 0.35291902453093393),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "mglru: off \u2192 on, swap on against off", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("off\u00b7on")), list(sign = -1, cells = c("on\u00b7off")), list(sign = 1, cells = c("off\u00b7off"))),
    blocks = c(), differences = c(),
    a = c(5, 2005.4, 3363.3691887748514, 358), b = c(5, 325.4, 1.816590212458495, 325),
    outcomes = c(0, 10, 0, 10), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = NULL),
  list(name = "swap: off \u2192 on, mglru off", metric = "job_wall_mean",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.40616863229936495, -0.541720967947716, -0.4962790354061184, -0.47515304041448836, -0.5188726443525895),
    a = c(5, 81.9319549628, 6.4870974616742085, 78.959632464), b = c(5, 50.350939134200004, 4.451738041761923, 51.879463428),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.48763886408405543, standard_error = 0.02320384667292919, df = 4, p = 0.000030301950049557762,
      ratio = 0.6140745973962826, interval = c(0.5757607491688737, 0.6549380306173056), equivalence = c(0.5844372210727786, 0.6452149137168808), alone = c(0.5757607491688737, 0.6549380306173056),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru off", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.24780034792707006, -0.2180650688356991, -0.2850705032587424, -0.08864725691418407, -0.23962826448543595),
    a = c(5, 8448.2, 245.30735822636873, 8410), b = c(5, 6816.8, 443.426656844173, 6618),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.2158422882842263, standard_error = 0.03358805795751216, df = 4, p = 0.003015051957911261,
      ratio = 0.8058623857914455, interval = c(0.7341090533234764, 0.8846290369168407), equivalence = c(0.7501764138085443, 0.8656819554436437), alone = c(0.7341090533234764, 0.8846290369168407),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru off", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-2.042843349957508, -1.462932739520598, -5.548837828927766, -4.662520321861175, -3.9772192049846877),
    a = c(5, 12351.8, 441.94083314398546, 12168), b = c(5, 972.2, 1218.3918499399115, 228),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -3.538870689050347, standard_error = 0.7759614034130737, df = 4, p = 0.010333922993673746,
      ratio = 0.029046110658098263, interval = c(0.0033685094593830134, 0.2504599005985929), equivalence = c(0.005554751934018201, 0.151883748254477), alone = c(0.0033685094593830134, 0.2504599005985929),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru off", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(1.4327676223560193, 1.4284495318963994, 1.5020908947888447, 1.5821596530023658, 1.442943828564994),
    a = c(5, 43522.4, 686.4949380731077, 43716), b = c(5, 191012, 11725.821783568092, 184343),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 1.4776823061217246, standard_error = 0.02929099854101352, df = 4, p = 0.0000009239041063516494,
      ratio = 4.382775967300384, interval = c(4.0404555947643805, 4.754098821042973), equivalence = c(4.1174678916300556, 4.6651791064583925), alone = c(4.0404555947643805, 4.754098821042973),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru off", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("off\u00b7on")), list(sign = -1, cells = c("off\u00b7off"))),
    blocks = c(), differences = c(),
    a = c(5, 0, 0, 0), b = c(5, 2005.4, 3363.3691887748514, 358),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = NULL),
  list(name = "swap: off \u2192 on, mglru on", metric = "job_wall_mean",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.5159374735272628, -0.3388114129825439, -0.05484369785787235, -0.27384917028974787, -0.4996094973432079),
    a = c(5, 75.46617121620001, 12.946194803603456, 78.214721028), b = c(5, 53.3350066094, 4.050120158470599, 53.023354671),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.336610250400127, standard_error = 0.0842802455749222, df = 4, p = 0.016211639231355334,
      ratio = 0.7141871398175352, interval = c(0.565180728410411, 0.9024781720978368), equivalence = c(0.5967345996825115, 0.8547573258733905), alone = c(0.565180728410411, 0.9024781720978368),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru on", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-0.22951143959691223, 0.05695888700292784, -0.1859855757499087, -0.20733233376570048, 0.02205103129236896),
    a = c(5, 7904.8, 249.7472722573762, 7984), b = c(5, 7122.6, 806.6258736241977, 6629),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.10876388616344493, standard_error = 0.06117004170359836, df = 4, p = 0.15002344682186977,
      ratio = 0.8969421729556796, interval = c(0.7568432237535491, 1.0629747831215666), equivalence = c(0.7872817866573683, 1.02187714140094), alone = c(0.7568432237535491, 1.0629747831215666),
      randomisation_p = 0.25, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru on", metric = "refaults_file",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(-1.1484552564780142, -1.972588589682311, -4.184013296397645, -1.4994876220626665, -2.2787744443003275),
    a = c(5, 13299.2, 442.6473765877304, 13257), b = c(5, 2148.2, 1607.2162891160606, 1844),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -2.216663841784193, standard_error = 0.5286447599313385, df = 4, p = 0.013772010191817901,
      ratio = 0.10897205107543381, interval = c(0.025111810695369663, 0.47288138874734964), equivalence = c(0.03530772592172196, 0.33632604778664876), alone = c(0.025111810695369663, 0.47288138874734964),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru on", metric = "pages_scanned",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5), differences = c(0.346120097631486, 0.3776714098694036, 0.33094328193301514, 0.2984485739595151, 0.2645634021105465),
    a = c(5, 42199.8, 1149.8970388691328, 42138), b = c(5, 58374.2, 3215.2179863891033, 56776),
    outcomes = c(0, 5, 0, 5), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.32354935310079325, standard_error = 0.01949704753140005, df = 4, p = 0.00007723665149027777,
      ratio = 1.3820243617725665, interval = c(1.3092007950401423, 1.4588986989381612), equivalence = c(1.3257583495242482, 1.4406783387170634), alone = c(1.3092007950401423, 1.4588986989381612),
      randomisation_p = 0.0625, smallest = 0.0625, exact = TRUE)),
  list(name = "swap: off \u2192 on, mglru on", metric = "pages_swapped_out",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7on")), list(sign = -1, cells = c("on\u00b7off"))),
    blocks = c(), differences = c(),
    a = c(5, 0, 0, 0), b = c(5, 325.4, 1.816590212458495, 325),
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
