# terasort-thp: every number of its report again, from its points.
# Rscript FILE prints each number with the stored one, and stops where they differ.
# Not in here: kernel counters and stall times, whose data the report does not carry.

alpha <- 0.05
counted <- 8 # blocks that count
planned <- 8 # blocks of the order
sequential <- FALSE # alpha was spent over analyses

points <- data.frame(
  `block` = c(1, 1, 1, 1, 1, 1, 1, 2,
    2, 2, 2, 2, 2, 3, 3, 3,
    3, 3, 3, 4, 4, 4, 4, 4,
    4, 4, 5, 5, 5, 5, 5, 5,
    6, 6, 6, 6, 6, 6, 7, 7,
    7, 7, 7, 7, 8, 8, 8, 8,
    8, 8),
  `order` = c(7, 8, 9, 9, 10, 11, 12, 13,
    14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29,
    30, 30, 31, 32, 33, 34, 35, 36,
    37, 38, 39, 40, 41, 42, 43, 44,
    45, 46, 47, 48, 49, 50, 51, 52,
    53, 54),
  `boot` = c(NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA, NA, NA, NA, NA, NA, NA,
    NA, NA),
  `cell` = c("aged\u00b7nodefrag", "fresh\u00b7nodefrag", "fresh\u00b7off", "fresh\u00b7off", "aged\u00b7now", "fresh\u00b7now", "aged\u00b7off", "aged\u00b7now",
    "fresh\u00b7nodefrag", "aged\u00b7nodefrag", "fresh\u00b7now", "aged\u00b7off", "fresh\u00b7off", "aged\u00b7now", "aged\u00b7off", "fresh\u00b7nodefrag",
    "fresh\u00b7off", "fresh\u00b7now", "aged\u00b7nodefrag", "aged\u00b7now", "fresh\u00b7now", "fresh\u00b7off", "fresh\u00b7nodefrag", "aged\u00b7nodefrag",
    "aged\u00b7off", "aged\u00b7off", "aged\u00b7nodefrag", "fresh\u00b7off", "aged\u00b7now", "fresh\u00b7now", "aged\u00b7off", "fresh\u00b7nodefrag",
    "aged\u00b7nodefrag", "fresh\u00b7now", "fresh\u00b7off", "aged\u00b7off", "fresh\u00b7nodefrag", "aged\u00b7now", "aged\u00b7off", "fresh\u00b7now",
    "aged\u00b7nodefrag", "fresh\u00b7off", "aged\u00b7now", "fresh\u00b7nodefrag", "aged\u00b7now", "fresh\u00b7nodefrag", "fresh\u00b7off", "aged\u00b7nodefrag",
    "fresh\u00b7now", "aged\u00b7off"),
  `memory` = c("aged", "fresh", "fresh", "fresh", "aged", "fresh", "aged", "aged",
    "fresh", "aged", "fresh", "aged", "fresh", "aged", "aged", "fresh",
    "fresh", "fresh", "aged", "aged", "fresh", "fresh", "fresh", "aged",
    "aged", "aged", "aged", "fresh", "aged", "fresh", "aged", "fresh",
    "aged", "fresh", "fresh", "aged", "fresh", "aged", "aged", "fresh",
    "aged", "fresh", "aged", "fresh", "aged", "fresh", "fresh", "aged",
    "fresh", "aged"),
  `thp` = c("nodefrag", "nodefrag", "off", "off", "now", "now", "off", "now",
    "nodefrag", "nodefrag", "now", "off", "off", "now", "off", "nodefrag",
    "off", "now", "nodefrag", "now", "now", "off", "nodefrag", "nodefrag",
    "off", "off", "nodefrag", "off", "now", "now", "off", "nodefrag",
    "nodefrag", "now", "off", "off", "nodefrag", "now", "off", "now",
    "nodefrag", "off", "now", "nodefrag", "now", "nodefrag", "off", "nodefrag",
    "now", "off"),
  `attempt` = c(1, 1, 1, 2, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 2, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1,
    1, 1),
  `outcome` = c("ok", "ok", "invalid", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "invalid", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok",
    "ok", "ok"),
  `system_share_of_all` = c(0.255418863503222, 0.19601328903654489, NA, 0.19829284307288247, 0.23908918406072105, 0.24741602067183463, 0.2191358024691358, 0.2591116173120729,
    0.23251533742331287, 0.2468553459119497, 0.22249388753056237, 0.22381224957069265, 0.20198675496688745, 0.2187683284457478, 0.2047981275599766, 0.2340561224489796,
    0.1953947368421053, 0.20777565328234543, 0.23821656050955417, 0.2345258375922771, 0.2165680473372781, 0.1686746987951807, 0.1897810218978102, 0.22169249106078665,
    NA, 0.22203098106712563, 0.2466631073144688, 0.2151815181518152, 0.23232944068838352, 0.2128712871287129, 0.17983820784069696, 0.1965660153937241,
    0.27497527200791294, 0.21929298981426004, 0.1870179948586118, 0.20843230403800475, 0.20058479532163745, 0.2414985590778098, 0.209277238403452, 0.2052980132450331,
    0.2710495963091119, 0.21976744186046512, 0.27906976744186046, 0.21495327102803735, 0.2476894639556377, 0.21772151898734177, 0.18325642715886617, 0.2460984393757503,
    0.22151495862507956, 0.21367061356297093),
  `wall` = c(8.60877297, 7.608959396, NA, 7.749859633, 8.048411661, 7.833481754, 8.224363747, 8.914209836,
    8.281136896, 9.667731923, 8.273596527, 8.877723652, 7.615614938, 8.634454583, 8.663211671, 7.894434305,
    7.637501211, 7.929299831, 7.908329322, 8.918652925, 8.534712968000001, 7.128367184, 7.602910885, 8.459826134,
    NA, 8.860978359, 9.571535209, 7.649590966, 8.248652815, 8.196941805, 8.130669971, 8.517735013,
    10.233663168, 8.435370928, 7.859613098, 8.488556527, 8.666753311, 8.797267614999999, 9.391818933, 8.382417449,
    8.761074712, 8.676758387, 8.72978587, 8.650200405, 8.206077383, 7.945288917, 7.689346795, 8.408747966,
    7.908991425, 9.385597131),
  check.names = FALSE, stringsAsFactors = FALSE)

cells <- list(
  list(cell = "fresh\u00b7now", values = list(
    list(metric = "system_share_of_all", stored = c(8, 0.21915385720438826, 0.013000576250879631, 0.21793051857576906)),
    list(metric = "wall", stored = c(8, 8.186851585875, 0.2664720093198731, 8.235269166)))),
  list(cell = "fresh\u00b7nodefrag", values = list(
    list(metric = "system_share_of_all", stored = c(8, 0.21027392144217355, 0.01708276956832875, 0.20776903317483741)),
    list(metric = "wall", stored = c(8, 8.145927391, 0.4421989779353941, 8.1132129065)))),
  list(cell = "fresh\u00b7off", values = list(
    list(metric = "system_share_of_all", stored = c(8, 0.19619655196335178, 0.01674909263528136, 0.19684378995749388)),
    list(metric = "wall", stored = c(8, 7.750831526499999, 0.43124306918972494, 7.6694688805)))),
  list(cell = "aged\u00b7now", values = list(
    list(metric = "system_share_of_all", stored = c(8, 0.2440102748218138, 0.018380242277235673, 0.2402938715692654)),
    list(metric = "wall", stored = c(8, 8.562189086, 0.34406099054249095, 8.6821202265)))),
  list(cell = "aged\u00b7nodefrag", values = list(
    list(metric = "system_share_of_all", stored = c(8, 0.25012120949909455, 0.01720675386656806, 0.24675922661320926)),
    list(metric = "wall", stored = c(8, 8.9524601755, 0.7855497141277954, 8.684923841)))),
  list(cell = "aged\u00b7off", values = list(
    list(metric = "system_share_of_all", stored = c(8, 0.21012444056400692, 0.014000552993112073, 0.21147392598321146)),
    list(metric = "wall", stored = c(8, 8.752864998875, 0.4751281295315049, 8.762095015)))),
  NULL)

# A comparison: groups of cells with their sign, and what the report says.
comparisons <- list(
  list(name = "thp: now \u2192 nodefrag, memory fresh", metric = "system_share_of_all",
    primary = TRUE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.0125, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("fresh\u00b7nodefrag")), list(sign = -1, cells = c("fresh\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(-0.23288875587412972, 0.04405656080756981, 0.11910201851054225, -0.1320339132908901, -0.07968936618366929, -0.08917161207029678, 0.04595801379702147, -0.01727331016646727),
    a = c(8, 0.21915385720438826, 0.013000576250879631, 0.21793051857576906), b = c(8, 0.21027392144217355, 0.01708276956832875, 0.20776903317483741),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = 0.6429193151052492, conclusion = "inconclusive",
    effect = list(log_ratio = -0.04274254555878995, standard_error = 0.04006545412252343, df = 7, p = 0.3214596575526246,
      ratio = 0.9581580403579332, interval = c(0.8383055289279773, 1.0951458610520866), equivalence = c(0.8550645749402067, 1.0736812835062821), alone = c(0.8715497849827809, 1.0533727919176674),
      randomisation_p = 0.3203125, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 nodefrag, memory fresh", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("fresh\u00b7nodefrag")), list(sign = -1, cells = c("fresh\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(-0.029080658753768862, 0.000910962360888945, -0.004406745224942998, -0.11561054054032516, 0.03838932785688831, 0.027060556828782723, 0.031446137590448675, 0.004578896630517804),
    a = c(8, 8.186851585875, 0.2664720093198731, 8.235269166), b = c(8, 8.145927391, 0.4421989779353941, 8.1132129065),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.00583900790643882, standard_error = 0.017512658197371547, df = 7, p = 0.7485844757340223,
      ratio = 0.9941780059694015, interval = c(0.9538490350961408, 1.036212095610783), equivalence = c(0.9617332867616826, 1.0277172695991112), alone = c(0.9538490350961408, 1.036212095610783),
      randomisation_p = 0.859375, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 nodefrag, memory aged", metric = "system_share_of_all",
    primary = TRUE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.0125, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7nodefrag")), list(sign = -1, cells = c("aged\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.06606816214447808, -0.048456402747702576, 0.08516686914597993, -0.05627451721883148, 0.05986710023710051, 0.12981766712898746, -0.029159996730820703, -0.006444184132864406),
    a = c(8, 0.2440102748218138, 0.018380242277235673, 0.2402938715692654), b = c(8, 0.25012120949909455, 0.01720675386656806, 0.24675922661320926),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = 0.6429193151052492, conclusion = "equivalent",
    effect = list(log_ratio = 0.025073087228290852, standard_error = 0.024433763812882668, df = 7, p = 0.3389609881150941,
      ratio = 1.0253900607032642, interval = c(0.9451414108451751, 1.1124523426064117), equivalence = c(0.9566198439731544, 1.099104083208366), alone = c(0.9678253967423117, 1.086378576268123),
      randomisation_p = 0.3359375, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 nodefrag, memory aged", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7nodefrag")), list(sign = -1, cells = c("aged\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.06730703331878374, 0.08114711988128054, -0.08784399748409566, -0.05281629594066084, 0.14874371965142608, 0.15124142183214317, 0.003577739954949699, 0.024397564440048036),
    a = c(8, 8.562189086, 0.34406099054249095, 8.6821202265), b = c(8, 8.9524601755, 0.7855497141277954, 8.684923841),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.041969288206734345, standard_error = 0.03080368564937321, df = 7, p = 0.21525949248013776,
      ratio = 1.0428624500829653, interval = c(0.9696017547340949, 1.1216585412340763), equivalence = c(0.983742881284189, 1.1055349019383294), alone = c(0.9696017547340949, 1.1216585412340763),
      randomisation_p = 0.1953125, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 off, memory fresh", metric = "system_share_of_all",
    primary = TRUE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.0125, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("fresh\u00b7off")), list(sign = -1, cells = c("fresh\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(-0.22132627055126575, -0.09669750367560681, -0.06143710367129729, -0.24993280366558657, 0.010794245130880453, -0.1592038473063757, 0.06810725814186691, -0.18960370717674824),
    a = c(8, 0.21915385720438826, 0.013000576250879631, 0.21793051857576906), b = c(8, 0.19619655196335178, 0.01674909263528136, 0.19684378995749388),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = 0.07828739538869664, conclusion = "inconclusive",
    effect = list(log_ratio = -0.11241246659676662, standard_error = 0.03998541994317549, df = 7, p = 0.02609579846289888,
      ratio = 0.8936755701489429, interval = c(0.7820976802751864, 1.0211717088842733), equivalence = c(0.7977015004969323, 1.0011965931912015), alone = c(0.8130497645455383, 0.9822966065643648),
      randomisation_p = 0.046875, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 off, memory fresh", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("fresh\u00b7off")), list(sign = -1, cells = c("fresh\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(-0.010732348291388583, -0.08286856629128891, -0.037494254996369936, -0.18005952393815106, -0.0691089561848548, -0.07069630884115474, 0.034511649907610575, -0.028164429551702508),
    a = c(8, 8.186851585875, 0.2664720093198731, 8.235269166), b = c(8, 7.750831526499999, 0.43124306918972494, 7.6694688805),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "better",
    effect = list(log_ratio = -0.055576592273412495, standard_error = 0.022303858573858103, df = 7, p = 0.04148755703081588,
      ratio = 0.9459395692336267, interval = c(0.8973432397006877, 0.997167671247363), equivalence = c(0.9068003217420968, 0.9867681419905691), alone = c(0.8973432397006877, 0.997167671247363),
      randomisation_p = 0.03125, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 off, memory aged", metric = "system_share_of_all",
    primary = TRUE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.0125, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7off")), list(sign = -1, cells = c("aged\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(-0.08714499716112956, -0.14645139490457915, -0.06598855855832997, -0.054748836955065716, -0.2560987660256304, -0.14724919887758436, -0.28780194059696496, -0.14774015979102328),
    a = c(8, 0.2440102748218138, 0.018380242277235673, 0.2402938715692654), b = c(8, 0.21012444056400692, 0.014000552993112073, 0.21147392598321146),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = 0.006444814270365454, conclusion = "better",
    effect = list(log_ratio = -0.14915298160878843, standard_error = 0.02998431363179551, df = 7, p = 0.0016112035675913635,
      ratio = 0.861437320750976, interval = c(0.7794556316125693, 0.9520416910034851), equivalence = c(0.7910882575460269, 0.9380423113402677), alone = c(0.8024749681588349, 0.9247319692540744),
      randomisation_p = 0.0078125, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 off, memory aged", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7off")), list(sign = -1, cells = c("aged\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.021626174901558937, -0.004101435650201601, 0.003324970440661268, -0.006487735023918972, -0.014406564439469527, -0.0357222094828904, 0.07309814255901026, 0.13430127009319115),
    a = c(8, 8.562189086, 0.34406099054249095, 8.6821202265), b = c(8, 8.752864998875, 0.4751281295315049, 8.762095015),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.02145407667474264, standard_error = 0.019693742228189648, df = 7, p = 0.3120600424726858,
      ratio = 1.0216858700475013, interval = c(0.9751985147836466, 1.0703892604741119), equivalence = c(0.9842677985046079, 1.0605264325833097), alone = c(0.9751985147836466, 1.0703892604741119),
      randomisation_p = 0.3828125, smallest = 0.0078125, exact = TRUE)),
  list(name = "memory: fresh \u2192 aged, thp now", metric = "system_share_of_all",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7now")), list(sign = -1, cells = c("fresh\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(-0.03423457662085805, 0.15235929428183992, 0.05155440129252353, 0.07966095898057945, 0.08746867010819215, 0.09645481780164689, 0.306999166424216, 0.11168567958557674),
    a = c(8, 0.21915385720438826, 0.013000576250879631, 0.21793051857576906), b = c(8, 0.2440102748218138, 0.018380242277235673, 0.2402938715692654),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.10649355148171458, standard_error = 0.03441826569378255, df = 7, p = 0.017466225831859396,
      ratio = 1.1123707532794138, interval = c(1.0254251281009215, 1.2066884834809992), equivalence = c(1.0421495360020208, 1.1873235557905686), alone = c(1.0254251281009215, 1.2066884834809992),
      randomisation_p = 0.015625, smallest = 0.0078125, exact = TRUE)),
  list(name = "memory: fresh \u2192 aged, thp now", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7now")), list(sign = -1, cells = c("fresh\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.027067683148251476, 0.07457731140583368, 0.08519580802937776, 0.044003192124202783, 0.006288757763893482, 0.042007485076437145, 0.04060449019349344, 0.03687475669788576),
    a = c(8, 8.186851585875, 0.2664720093198731, 8.235269166), b = c(8, 8.562189086, 0.34406099054249095, 8.6821202265),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.04457743555492194, standard_error = 0.008868593228022375, df = 7, p = 0.0015194262590253807,
      ratio = 1.0455859391031441, interval = c(1.0238873849455377, 1.067744336071057), equivalence = c(1.0281645153005126, 1.0633025549716313), alone = c(1.0238873849455377, 1.067744336071057),
      randomisation_p = 0.0078125, smallest = 0.0078125, exact = TRUE)),
  list(name = "memory: fresh \u2192 aged, thp nodefrag", metric = "system_share_of_all",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7nodefrag")), list(sign = -1, cells = c("fresh\u00b7nodefrag"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.26472234139774975, 0.05984633072656753, 0.01761925192796121, 0.15542035505263807, 0.22702513652896195, 0.3154440970009311, 0.23188115589637381, 0.1225148056191796),
    a = c(8, 0.21027392144217355, 0.01708276956832875, 0.20776903317483741), b = c(8, 0.25012120949909455, 0.01720675386656806, 0.24675922661320926),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.17430918426879538, standard_error = 0.03656697167541092, df = 7, p = 0.0020431712423525372,
      ratio = 1.190423569167798, interval = c(1.0918156410994044, 1.2979373263083511), equivalence = c(1.1107441344177027, 1.2758188228228682), alone = c(1.0918156410994044, 1.2979373263083511),
      randomisation_p = 0.0078125, smallest = 0.0078125, exact = TRUE)),
  list(name = "memory: fresh \u2192 aged, thp nodefrag", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7nodefrag")), list(sign = -1, cells = c("fresh\u00b7nodefrag"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.12345537522080408, 0.15481346892622527, 0.001758555770225101, 0.1067974367238671, 0.11664314955843125, 0.1661883500797976, 0.01273609255799446, 0.05669342450741599),
    a = c(8, 8.145927391, 0.4421989779353941, 8.1132129065), b = c(8, 8.9524601755, 0.7855497141277954, 8.684923841),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.0923857316680951, standard_error = 0.021932030551981934, df = 7, p = 0.003974060403160944,
      ratio = 1.096787806286436, interval = c(1.0413570520828552, 1.1551691032509575), equivalence = c(1.0521479863084917, 1.1433215742199856), alone = c(1.0413570520828552, 1.1551691032509575),
      randomisation_p = 0.0078125, smallest = 0.0078125, exact = TRUE)),
  list(name = "memory: fresh \u2192 aged, thp off", metric = "system_share_of_all",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7off")), list(sign = -1, cells = c("fresh\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.09994669676927814, 0.10260540305286758, 0.04700294640549085, 0.2748449256911003, -0.17942434104831873, 0.10840946623043823, -0.04891003231461588, 0.1535492269713017),
    a = c(8, 0.19619655196335178, 0.01674909263528136, 0.19684378995749388), b = c(8, 0.21012444056400692, 0.014000552993112073, 0.21147392598321146),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = 0.06975303646969278, standard_error = 0.04804343183873726, df = 7, p = 0.1898365925801737,
      ratio = 1.0722433435514636, interval = c(0.9570959535757623, 1.2012440168564698), equivalence = c(0.9789555689410752, 1.1744208054652014), alone = c(0.9570959535757623, 1.2012440168564698),
      randomisation_p = 0.1953125, smallest = 0.0078125, exact = TRUE)),
  list(name = "memory: fresh \u2192 aged, thp off", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7off")), list(sign = -1, cells = c("fresh\u00b7off"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.059426206341198995, 0.153344442046921, 0.12601503346640897, 0.21757498103843487, 0.06099114950927875, 0.07698158443470149, 0.07919098284489312, 0.19934045634277942),
    a = c(8, 7.750831526499999, 0.43124306918972494, 7.6694688805), b = c(8, 8.752864998875, 0.4751281295315049, 8.762095015),
    outcomes = c(0, 8, 0, 8), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.12160810450307707, standard_error = 0.022204535513598654, df = 7, p = 0.0009291982454906529,
      ratio = 1.1293114429788615, interval = c(1.071546274156106, 1.190190630122244), equivalence = c(1.082788725755651, 1.1778330388072409), alone = c(1.071546274156106, 1.190190630122244),
      randomisation_p = 0.0078125, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 off, memory aged against fresh", metric = "system_share_of_all",
    primary = FALSE, method = "blocks", margin = 0.1, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7off")), list(sign = -1, cells = c("aged\u00b7now")), list(sign = -1, cells = c("fresh\u00b7off")), list(sign = 1, cells = c("fresh\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.1341812733901362, -0.049753891228972336, -0.00455145488703268, 0.19518396671052085, -0.2668930111565109, 0.011954648428791348, -0.35590919873883187, 0.04186354738572495),
    a = c(8, 0.2440102748218138, 0.018380242277235673, 0.2402938715692654), b = c(8, 0.21012444056400692, 0.014000552993112073, 0.21147392598321146),
    outcomes = c(0, 16, 0, 16), outcomes_p = 1,
    holm_p = NA, conclusion = "inconclusive",
    effect = list(log_ratio = -0.0367405150120218, standard_error = 0.06649346695172338, df = 7, p = 0.597768912445562,
      ratio = 0.9639262272855976, interval = c(0.823680489658038, 1.1280512083451149), equivalence = c(0.8498311342037826, 1.093339293246277), alone = c(0.823680489658038, 1.1280512083451149),
      randomisation_p = 0.59375, smallest = 0.0078125, exact = TRUE)),
  list(name = "thp: now \u2192 off, memory aged against fresh", metric = "wall",
    primary = FALSE, method = "blocks", margin = 0.02, lower_is_better = TRUE, level = 0.05, level_of_failures = NA,
    groups = list(list(sign = 1, cells = c("aged\u00b7off")), list(sign = -1, cells = c("aged\u00b7now")), list(sign = -1, cells = c("fresh\u00b7off")), list(sign = 1, cells = c("fresh\u00b7now"))),
    blocks = c(1, 2, 3, 4, 5, 6, 7, 8), differences = c(0.03235852319294752, 0.07876713064108731, 0.040819225437031204, 0.17357178891423208, 0.05470239174538527, 0.03497409935826434, 0.038586492651399684, 0.16246569964489366),
    a = c(8, 8.562189086, 0.34406099054249095, 8.6821202265), b = c(8, 8.752864998875, 0.4751281295315049, 8.762095015),
    outcomes = c(0, 16, 0, 16), outcomes_p = 1,
    holm_p = NA, conclusion = "worse",
    effect = list(log_ratio = 0.07703066894815513, standard_error = 0.020561093009115124, df = 7, p = 0.007201787763322154,
      ratio = 1.0800752006549872, interval = c(1.028818863507278, 1.1338851574834663), equivalence = c(1.0388102438955715, 1.122979337107097), alone = c(1.028818863507278, 1.1338851574834663),
      randomisation_p = 0.0078125, smallest = 0.0078125, exact = TRUE)),
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
