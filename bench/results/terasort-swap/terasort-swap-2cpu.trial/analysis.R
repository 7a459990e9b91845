# terasort-swap-2cpu: every number of its report again, from its points.
# Rscript FILE prints each number with the stored one, and stops where they differ.
# Not in here: kernel counters and stall times, whose data the report does not carry.

alpha <- 0.05
counted <- 7 # blocks that count
planned <- 7 # blocks of the order
sequential <- FALSE # alpha was spent over analyses

points <- data.frame(
  `block` = c(1, 1, 1, 1, 1, 1, 2, 2,
    2, 2, 2, 2, 3, 3, 3, 3,
    3, 3, 4, 4, 4, 4, 4, 4,
    5, 5, 5, 5, 5, 5, 6, 6,
    6, 6, 6, 6, 7, 7, 7, 7,
    7, 7),
  `order` = c(1, 2, 3, 4, 5, 6, 7, 8,
    9, 10, 11, 12, 13, 14, 15, 16,
    17, 18, 19, 20, 21, 22, 23, 24,
    25, 26, 27, 28, 29, 30, 31, 32,
    33, 34, 35, 36, 37, 38, 39, 40,
    41, 42),
  `boot` = c(NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA),
  `cell` = c("off\u00b7medium", "on\u00b7low", "off\u00b7high", "off\u00b7low", "on\u00b7medium", "on\u00b7high", "off\u00b7high", "off\u00b7medium",
    "on\u00b7high", "on\u00b7low", "on\u00b7medium", "off\u00b7low", "on\u00b7medium", "on\u00b7high", "off\u00b7low", "off\u00b7high",
    "on\u00b7low", "off\u00b7medium", "off\u00b7high", "off\u00b7medium", "on\u00b7high", "on\u00b7low", "off\u00b7low", "on\u00b7medium",
    "on\u00b7low", "on\u00b7high", "off\u00b7medium", "off\u00b7low", "off\u00b7high", "on\u00b7medium", "off\u00b7medium", "on\u00b7high",
    "on\u00b7medium", "off\u00b7high", "off\u00b7low", "on\u00b7low", "off\u00b7medium", "on\u00b7medium", "off\u00b7low", "on\u00b7high",
    "off\u00b7high", "on\u00b7low"),
  `swap` = c("off", "on", "off", "off", "on", "on", "off", "off",
    "on", "on", "on", "off", "on", "on", "off", "off",
    "on", "off", "off", "off", "on", "on", "off", "on",
    "on", "on", "off", "off", "off", "on", "off", "on",
    "on", "off", "off", "on", "off", "on", "off", "on",
    "off", "on"),
  `concurrency` = c("medium", "low", "high", "low", "medium", "high", "high", "medium",
    "high", "low", "medium", "low", "medium", "high", "low", "high",
    "low", "medium", "high", "medium", "high", "low", "low", "medium",
    "low", "high", "medium", "low", "high", "medium", "medium", "high",
    "medium", "high", "low", "low", "medium", "medium", "low", "high",
    "high", "low"),
  `attempt` = c(1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1),
  `outcome` = c("ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok"),
  `job_wall_mean` = c(24.848295828, 30.311208099, 26.091665518, 32.766237289, 27.458548613, 23.891481026, 22.905748598, 20.739565313,
    26.985077837, 33.247076898, 24.107833234, 31.283611509, 23.320741278, 22.80640583, 31.046399135, 24.442065103,
    29.032688417, 22.001618789, 23.627188899, 21.508331935, 24.851492709, 33.527426069, 28.964389564, 22.836384856,
    32.968331243, 21.236208587, 20.785413614, 30.658125435, 25.021265772, 25.112939216, 24.107504476, 26.850894659,
    25.79465163, 23.411639561, 28.856447228, 31.711186868, 23.790786678, 22.761985227, 29.576915015, 24.541811363,
    24.348032282, 35.540087762),
  `system` = c(5.670889, 5.881984, 5.578999, 6.239885, 6.832952, 4.904803, 4.777321, 4.774227,
    5.77755, 6.844656, 5.896807, 5.936688, 4.709459, 5.184159, 6.147027, 5.408114,
    4.725386, 5.214071, 5.196638, 4.798205, 5.17229, 7.168411, 4.908688, 5.363857,
    6.706187, 4.696078, 4.847924, 5.802325, 4.980388, 5.935319, 5.478937, 5.55423,
    6.265182, 4.937925, 5.741045, 6.6583939999999995, 5.402094, 5.07373, 5.862995, 5.211329,
    5.108409, 7.697301),
  `major_faults` = c(120, 6608, 101, 163, 25525, 915, 58, 86,
    10585, 22391, 5146, 161, 6540, 3934, 185, 163,
    133, 118, 142, 148, 2228, 21484, 62, 1536,
    20097, 103, 89, 138, 81, 9326, 193, 4866,
    19030, 171, 181, 11369, 151, 111, 165, 3685,
    255, 29590),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "off\u00b7low", values = list(
    list(metric = "job_wall_mean", stored = c(7, 30.450303596428572, 1.4123029067420303, 30.658125435)),
    list(metric = "system", stored = c(7, 5.805521857142856, 0.43479559833191683, 5.862995)),
    list(metric = "major_faults", stored = c(7, 150.71428571428572, 42.00283437148135, 163)))),
  list(cell = "off\u00b7medium", values = list(
    list(metric = "job_wall_mean", stored = c(7, 22.54021666185714, 1.6844434624872393, 22.001618789)),
    list(metric = "system", stored = c(7, 5.169478142857143, 0.3653173440432435, 5.214071)),
    list(metric = "major_faults", stored = c(7, 129.28571428571428, 37.840517463490926, 120)))),
  list(cell = "off\u00b7high", values = list(
    list(metric = "job_wall_mean", stored = c(7, 24.263943676142855, 1.074668541583165, 24.348032282)),
    list(metric = "system", stored = c(7, 5.141113428571429, 0.278881327350815, 5.108409)),
    list(metric = "major_faults", stored = c(7, 138.71428571428572, 66.37447874425402, 142)))),
  list(cell = "on\u00b7low", values = list(
    list(metric = "job_wall_mean", stored = c(7, 32.334000765142854, 2.1724637130652265, 32.968331243)),
    list(metric = "system", stored = c(7, 6.526045571428571, 0.9655000836162327, 6.706187)),
    list(metric = "major_faults", stored = c(7, 15953.142857142857, 10277.765571507123, 20097)))),
  list(cell = "on\u00b7medium", values = list(
    list(metric = "job_wall_mean", stored = c(7, 24.48472629342857, 1.7385794403549664, 24.107833234)),
    list(metric = "system", stored = c(7, 5.7253294285714285, 0.7278971535418212, 5.896807)),
    list(metric = "major_faults", stored = c(7, 9602, 9370.845799606352, 6540)))),
  list(cell = "on\u00b7high", values = list(
    list(metric = "job_wall_mean", stored = c(7, 24.451910287285717, 2.0697147737021373, 24.541811363)),
    list(metric = "system", stored = c(7, 5.214348428571428, 0.365109009314961, 5.184159)),
    list(metric = "major_faults", stored = c(7, 3759.4285714285716, 3455.779162366661, 3685)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "swap: off \u2192 on, concurrency low", metric = "job_wall_mean",
    primary = TRUE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.016666666666666666, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7low")), list(sign = -1, cells = c("off\u00b7low"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.077881085924421, 0.060872483933936294, -0.06706044978565817, 0.1462966631411704, 0.07264971023209288, 0.09433607457858795, 0.1836671332007107),
    a = c(7, 30.450303596428572, 1.4123029067420303, 30.658125435), b = c(7, 32.334000765142854, 2.1724637130652265, 32.968331243),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = 0.33462934927403604, conclusion = "inconclusive",
    effect = list(log_ratio = 0.05898293276805987, standard_error = 0.03755273342824269, df = 6, p = 0.16731467463701802,
      ratio = 1.060757136397585, interval = c(0.9375642460145699, 1.2001371716140705), equivalence = c(0.9567131524531122, 1.176116058960055), alone = c(0.967630193989676, 1.1628468286825802),
      randomisation_p = 0.171875, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency low", metric = "system",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7low")), list(sign = -1, cells = c("off\u00b7low"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.05906763275943794, 0.1423167997026784, -0.2630192995710581, 0.3786773158749337, 0.14477183383333259, 0.14823706482148946, 0.27220918275682315),
    a = c(7, 5.805521857142856, 0.43479559833191683, 5.862995), b = c(7, 6.526045571428571, 0.9655000836162327, 6.706187),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.10916075209410876, standard_error = 0.08016904462472736, df = 6, p = 0.22222226699846592,
      ratio = 1.1153416294338951, interval = c(0.9166717484025653, 1.3570691499068077), equivalence = c(0.954447963307821, 1.3033575408731375), alone = c(0.9166717484025653, 1.3570691499068077),
      randomisation_p = 0.21875, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency low", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7low")), list(sign = -1, cells = c("off\u00b7low"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(3.7022861143940515, 4.935010006406875, -0.3300066968565707, 5.847929365980259, 4.981072144019172, 4.14014860086328, 5.189246271493675),
    a = c(7, 150.71428571428572, 42.00283437148135, 163), b = c(7, 15953.142857142857, 10277.765571507123, 20097),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 4.0665265437572495, standard_error = 0.7790737573650313, df = 6, p = 0.001976777368643342,
      ratio = 58.35392037788421, interval = c(8.672887097723153, 392.6235848685721), equivalence = c(12.841033444805827, 265.17959306817613), alone = c(8.672887097723153, 392.6235848685721),
      randomisation_p = 0.03125, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency medium", metric = "job_wall_mean",
    primary = TRUE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.016666666666666666, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7medium")), list(sign = -1, cells = c("off\u00b7medium"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(0.09988837251354488, 0.15049357443208988, 0.05822711622883281, 0.05991469907605795, 0.18913174777762842, 0.06764398820417927, -0.04420656152037994),
    a = c(7, 22.54021666185714, 1.6844434624872393, 22.001618789), b = c(7, 24.48472629342857, 1.7385794403549664, 24.107833234),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = 0.0786588946755523, conclusion = "inconclusive",
    effect = list(log_ratio = 0.08301327667313618, standard_error = 0.02831308365294358, df = 6, p = 0.026219631558517434,
      ratio = 1.0865562343044417, interval = c(0.9899857635644754, 1.1925468968917743), equivalence = c(1.0051924325240484, 1.1745059076313766), alone = c(1.0138283966155075, 1.164501264954794),
      randomisation_p = 0.03125, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency medium", metric = "system",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7medium")), list(sign = -1, cells = c("off\u00b7medium"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(0.1864108954682231, 0.2111789419655794, -0.1017878931676719, 0.11144141621386638, 0.20237020348765555, 0.13409653416386114, -0.06271040887603441),
    a = c(7, 5.169478142857143, 0.3653173440432435, 5.214071), b = c(7, 5.7253294285714285, 0.7278971535418212, 5.896807),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.09728566989363989, standard_error = 0.04848715982987419, df = 6, p = 0.09160760848066217,
      ratio = 1.1021751869209488, interval = c(0.9788683336770111, 1.241014854470778), equivalence = c(1.0030710831971936, 1.2110708433466157), alone = c(0.9788683336770111, 1.241014854470778),
      randomisation_p = 0.09375, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency medium", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7medium")), list(sign = -1, cells = c("off\u00b7medium"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(5.3599219002508205, 4.091627696588182, 4.01500781998558, 2.339724639943503, 4.651925107636126, 4.59108177138531, -0.3077496355025904),
    a = c(7, 129.28571428571428, 37.840517463490926, 120), b = c(7, 9602, 9370.845799606352, 6540),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 3.5345056143267044, standard_error = 0.7307663701045842, df = 6, p = 0.002890443748934967,
      ratio = 34.278063940743706, interval = c(5.7338357544363205, 204.92140302704289), equivalence = c(8.285399043355383, 141.81401057176765), alone = c(5.7338357544363205, 204.92140302704289),
      randomisation_p = 0.03125, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency high", metric = "job_wall_mean",
    primary = TRUE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.016666666666666666, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7high")), list(sign = -1, cells = c("off\u00b7high"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.08809398155009962, 0.16389613098310862, -0.06926417362778325, 0.05051969861380057, -0.16401841716359522, 0.13706582520338806, 0.007927212742745215),
    a = c(7, 24.263943676142855, 1.074668541583165, 24.348032282), b = c(7, 24.451910287285717, 2.0697147737021373, 24.541811363),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = 0.9091420188452279, conclusion = "inconclusive",
    effect = list(log_ratio = 0.00543318502879491, standard_error = 0.0456481217590594, df = 6, p = 0.9091420188452279,
      ratio = 1.0054479715457385, interval = c(0.8653398420203278, 1.1682411630616825), equivalence = c(0.8868706821816041, 1.139879402709169), alone = c(0.8991874605247067, 1.1242657041675497),
      randomisation_p = 0.9375, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency high", metric = "system",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7high")), list(sign = -1, cells = c("off\u00b7high"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.12879444050789401, 0.19009978825541052, -0.04229278852422702, -0.004696347539679957, -0.05878010737959083, 0.11761459715013256, 0.019946904166134205),
    a = c(7, 5.141113428571429, 0.278881327350815, 5.108409), b = c(7, 5.214348428571428, 0.365109009314961, 5.184159),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.013299657945755066, standard_error = 0.04111096488069134, df = 6, p = 0.7572903213199904,
      ratio = 1.0133884917795006, interval = c(0.9164064873743353, 1.1206339647524104), equivalence = c(0.9355821170645602, 1.09766552453275), alone = c(0.9164064873743353, 1.1206339647524104),
      randomisation_p = 0.765625, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency high", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7high")), list(sign = -1, cells = c("off\u00b7high"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(2.2038035484342613, 5.206750173022546, 3.183661798142242, 2.753032543445914, 0.24027983355719673, 3.3483639668408074, 2.670762259465011),
    a = c(7, 138.71428571428572, 66.37447874425402, 142), b = c(7, 3759.4285714285716, 3455.779162366661, 3685),
    outcomes = c(0, 7, 0, 7), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 2.8009505889868542, standard_error = 0.559907844466572, df = 6, p = 0.002446195731668496,
      ratio = 16.46028630341627, interval = c(4.182484503588999, 64.77992326282103), equivalence = c(5.545288823899651, 48.85967779039822), alone = c(4.182484503588999, 64.77992326282103),
      randomisation_p = 0.015625, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency high against low", metric = "job_wall_mean",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7high")), list(sign = -1, cells = c("off\u00b7high")), list(sign = -1, cells = c("on\u00b7low")), list(sign = 1, cells = c("off\u00b7low"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.01021289562567862, 0.10302364704917233, -0.0022037238421250827, -0.09577696452736983, -0.2366681273956881, 0.04272975062480011, -0.1757399204579655),
    a = c(7, 24.263943676142855, 1.074668541583165, 24.348032282), b = c(7, 24.451910287285717, 2.0697147737021373, 24.541811363),
    outcomes = c(0, 14, 0, 14), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.053549747739264957, standard_error = 0.04591539419116471, df = 6, p = 0.28776120877038014,
      ratio = 0.9478587859991395, interval = c(0.8471303755251884, 1.0605643524926922), equivalence = c(0.8669520266608348, 1.0363160250702603), alone = c(0.8471303755251884, 1.0605643524926922),
      randomisation_p = 0.296875, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency high against low", metric = "system",
    primary = FALSE, method = "blocks", margin = 0.05, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7high")), list(sign = -1, cells = c("off\u00b7high")), list(sign = -1, cells = c("on\u00b7low")), list(sign = 1, cells = c("off\u00b7low"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-0.06972680774845608, 0.04778298855273211, 0.22072651104683105, -0.38337366341461365, -0.20355194121292342, -0.0306224676713569, -0.2522622785906887),
    a = c(7, 5.141113428571429, 0.278881327350815, 5.108409), b = c(7, 5.214348428571428, 0.365109009314961, 5.184159),
    outcomes = c(0, 14, 0, 14), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.09586109414835366, standard_error = 0.07630180365012776, df = 6, p = 0.2556924984878668,
      ratio = 0.908590215801286, interval = c(0.7538477294024112, 1.0950967258391093), equivalence = c(0.7833863716075123, 1.053804623325044), alone = c(0.7538477294024112, 1.0950967258391093),
      randomisation_p = 0.234375, smallest = 0.015625, exact = TRUE)),
  list(name = "swap: off \u2192 on, concurrency high against low", metric = "major_faults",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("on\u00b7high")), list(sign = -1, cells = c("off\u00b7high")), list(sign = -1, cells = c("on\u00b7low")), list(sign = 1, cells = c("off\u00b7low"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7), differences = c(-1.4984825659597902, 0.2717401666156709, 3.5136684949988126, -3.094896822534345, -4.740792310461976, -0.7917846340224726, -2.5184840120286642),
    a = c(7, 138.71428571428572, 66.37447874425402, 142), b = c(7, 3759.4285714285716, 3455.779162366661, 3685),
    outcomes = c(0, 14, 0, 14), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -1.2655759547703949, standard_error = 1.005657380699438, df = 6, p = 0.25497838783738147,
      ratio = 0.28207678587529195, interval = c(0.0240810292191645, 3.304149187544398), equivalence = c(0.039965066422042665, 1.9909215785977046), alone = c(0.0240810292191645, 3.304149187544398),
      randomisation_p = 0.25, smallest = 0.015625, exact = TRUE)),
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
