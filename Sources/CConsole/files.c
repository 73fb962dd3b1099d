// SPDX-License-Identifier: Apache-2.0
//
// Written by scripts/console-files: run it when a file of Console/ comes, goes or gets another name.

#include "CConsole.h"

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char file_0[] = {
#embed "../../Console/css/base.css"
};

static const unsigned char file_1[] = {
#embed "../../Console/css/components.css"
};

static const unsigned char file_2[] = {
#embed "../../Console/css/shell.css"
};

static const unsigned char file_3[] = {
#embed "../../Console/css/tokens.css"
};

static const unsigned char file_4[] = {
#embed "../../Console/css/views/access.css"
};

static const unsigned char file_5[] = {
#embed "../../Console/css/views/ask.css"
};

static const unsigned char file_6[] = {
#embed "../../Console/css/views/chart.css"
};

static const unsigned char file_7[] = {
#embed "../../Console/css/views/conflicts.css"
};

static const unsigned char file_8[] = {
#embed "../../Console/css/views/diff.css"
};

static const unsigned char file_9[] = {
#embed "../../Console/css/views/document.css"
};

static const unsigned char file_10[] = {
#embed "../../Console/css/views/documents.css"
};

static const unsigned char file_11[] = {
#embed "../../Console/css/views/history.css"
};

static const unsigned char file_12[] = {
#embed "../../Console/css/views/indexes.css"
};

static const unsigned char file_13[] = {
#embed "../../Console/css/views/json-editor.css"
};

static const unsigned char file_14[] = {
#embed "../../Console/css/views/live.css"
};

static const unsigned char file_15[] = {
#embed "../../Console/css/views/overview.css"
};

static const unsigned char file_16[] = {
#embed "../../Console/css/views/server.css"
};

static const unsigned char file_17[] = {
#embed "../../Console/css/views/storage.css"
};

static const unsigned char file_18[] = {
#embed "../../Console/css/views/sync.css"
};

static const unsigned char file_19[] = {
#embed "../../Console/icon.svg"
};

static const unsigned char file_20[] = {
#embed "../../Console/index.html"
};

static const unsigned char file_21[] = {
#embed "../../Console/js/access/accounts.js"
};

static const unsigned char file_22[] = {
#embed "../../Console/js/access/list-field.js"
};

static const unsigned char file_23[] = {
#embed "../../Console/js/access/parts.js"
};

static const unsigned char file_24[] = {
#embed "../../Console/js/access/permission.js"
};

static const unsigned char file_25[] = {
#embed "../../Console/js/access/rights.js"
};

static const unsigned char file_26[] = {
#embed "../../Console/js/access/roles.js"
};

static const unsigned char file_27[] = {
#embed "../../Console/js/access/security.js"
};

static const unsigned char file_28[] = {
#embed "../../Console/js/access/tokens.js"
};

static const unsigned char file_29[] = {
#embed "../../Console/js/access/user-dialogs.js"
};

static const unsigned char file_30[] = {
#embed "../../Console/js/access/users.js"
};

static const unsigned char file_31[] = {
#embed "../../Console/js/access/you.js"
};

static const unsigned char file_32[] = {
#embed "../../Console/js/api/changes.js"
};

static const unsigned char file_33[] = {
#embed "../../Console/js/api/client.js"
};

static const unsigned char file_34[] = {
#embed "../../Console/js/api/couch.js"
};

static const unsigned char file_35[] = {
#embed "../../Console/js/api/exact.js"
};

static const unsigned char file_36[] = {
#embed "../../Console/js/api/server.js"
};

static const unsigned char file_37[] = {
#embed "../../Console/js/ask/advice.js"
};

static const unsigned char file_38[] = {
#embed "../../Console/js/ask/builder-model.js"
};

static const unsigned char file_39[] = {
#embed "../../Console/js/ask/builder.js"
};

static const unsigned char file_40[] = {
#embed "../../Console/js/ask/chart-choice.js"
};

static const unsigned char file_41[] = {
#embed "../../Console/js/ask/explain.js"
};

static const unsigned char file_42[] = {
#embed "../../Console/js/ask/export.js"
};

static const unsigned char file_43[] = {
#embed "../../Console/js/ask/forms.js"
};

static const unsigned char file_44[] = {
#embed "../../Console/js/ask/places.js"
};

static const unsigned char file_45[] = {
#embed "../../Console/js/ask/question.js"
};

static const unsigned char file_46[] = {
#embed "../../Console/js/ask/results.js"
};

static const unsigned char file_47[] = {
#embed "../../Console/js/ask/rows.js"
};

static const unsigned char file_48[] = {
#embed "../../Console/js/ask/saved.js"
};

static const unsigned char file_49[] = {
#embed "../../Console/js/ask/snippets.js"
};

static const unsigned char file_50[] = {
#embed "../../Console/js/ask/table.js"
};

static const unsigned char file_51[] = {
#embed "../../Console/js/components/button.js"
};

static const unsigned char file_52[] = {
#embed "../../Console/js/components/chart.js"
};

static const unsigned char file_53[] = {
#embed "../../Console/js/components/copy.js"
};

static const unsigned char file_54[] = {
#embed "../../Console/js/components/dialog.js"
};

static const unsigned char file_55[] = {
#embed "../../Console/js/components/diff.js"
};

static const unsigned char file_56[] = {
#embed "../../Console/js/components/field.js"
};

static const unsigned char file_57[] = {
#embed "../../Console/js/components/icon.js"
};

static const unsigned char file_58[] = {
#embed "../../Console/js/components/json-editor-find.js"
};

static const unsigned char file_59[] = {
#embed "../../Console/js/components/json-editor-folds.js"
};

static const unsigned char file_60[] = {
#embed "../../Console/js/components/json-editor-history.js"
};

static const unsigned char file_61[] = {
#embed "../../Console/js/components/json-editor-lines.js"
};

static const unsigned char file_62[] = {
#embed "../../Console/js/components/json-editor-typing.js"
};

static const unsigned char file_63[] = {
#embed "../../Console/js/components/json-editor.js"
};

static const unsigned char file_64[] = {
#embed "../../Console/js/components/json-text.js"
};

static const unsigned char file_65[] = {
#embed "../../Console/js/components/json-view.js"
};

static const unsigned char file_66[] = {
#embed "../../Console/js/components/map.js"
};

static const unsigned char file_67[] = {
#embed "../../Console/js/components/menu.js"
};

static const unsigned char file_68[] = {
#embed "../../Console/js/components/progress.js"
};

static const unsigned char file_69[] = {
#embed "../../Console/js/components/revision-tree.js"
};

static const unsigned char file_70[] = {
#embed "../../Console/js/components/scale.js"
};

static const unsigned char file_71[] = {
#embed "../../Console/js/components/states.js"
};

static const unsigned char file_72[] = {
#embed "../../Console/js/components/tabs.js"
};

static const unsigned char file_73[] = {
#embed "../../Console/js/components/toast.js"
};

static const unsigned char file_74[] = {
#embed "../../Console/js/components/virtual-list.js"
};

static const unsigned char file_75[] = {
#embed "../../Console/js/conflicts/load.js"
};

static const unsigned char file_76[] = {
#embed "../../Console/js/conflicts/queue.js"
};

static const unsigned char file_77[] = {
#embed "../../Console/js/conflicts/resolve.js"
};

static const unsigned char file_78[] = {
#embed "../../Console/js/conflicts/rule-panel.js"
};

static const unsigned char file_79[] = {
#embed "../../Console/js/conflicts/rules.js"
};

static const unsigned char file_80[] = {
#embed "../../Console/js/conflicts/three-way.js"
};

static const unsigned char file_81[] = {
#embed "../../Console/js/core/dom.js"
};

static const unsigned char file_82[] = {
#embed "../../Console/js/core/download.js"
};

static const unsigned char file_83[] = {
#embed "../../Console/js/core/format.js"
};

static const unsigned char file_84[] = {
#embed "../../Console/js/core/json.js"
};

static const unsigned char file_85[] = {
#embed "../../Console/js/core/keys.js"
};

static const unsigned char file_86[] = {
#embed "../../Console/js/core/merge.js"
};

static const unsigned char file_87[] = {
#embed "../../Console/js/core/revision.js"
};

static const unsigned char file_88[] = {
#embed "../../Console/js/core/router.js"
};

static const unsigned char file_89[] = {
#embed "../../Console/js/core/signal.js"
};

static const unsigned char file_90[] = {
#embed "../../Console/js/core/style.js"
};

static const unsigned char file_91[] = {
#embed "../../Console/js/core/waiting.js"
};

static const unsigned char file_92[] = {
#embed "../../Console/js/databases/create-index.js"
};

static const unsigned char file_93[] = {
#embed "../../Console/js/databases/create.js"
};

static const unsigned char file_94[] = {
#embed "../../Console/js/databases/designs.js"
};

static const unsigned char file_95[] = {
#embed "../../Console/js/databases/indexes.js"
};

static const unsigned char file_96[] = {
#embed "../../Console/js/databases/line.js"
};

static const unsigned char file_97[] = {
#embed "../../Console/js/databases/rates.js"
};

static const unsigned char file_98[] = {
#embed "../../Console/js/databases/row.js"
};

static const unsigned char file_99[] = {
#embed "../../Console/js/databases/sample.js"
};

static const unsigned char file_100[] = {
#embed "../../Console/js/document/attachments.js"
};

static const unsigned char file_101[] = {
#embed "../../Console/js/document/drafts.js"
};

static const unsigned char file_102[] = {
#embed "../../Console/js/document/facts.js"
};

static const unsigned char file_103[] = {
#embed "../../Console/js/document/feed.js"
};

static const unsigned char file_104[] = {
#embed "../../Console/js/document/functions.js"
};

static const unsigned char file_105[] = {
#embed "../../Console/js/document/head.js"
};

static const unsigned char file_106[] = {
#embed "../../Console/js/document/layout.js"
};

static const unsigned char file_107[] = {
#embed "../../Console/js/document/links.js"
};

static const unsigned char file_108[] = {
#embed "../../Console/js/document/merge.js"
};

static const unsigned char file_109[] = {
#embed "../../Console/js/document/missing.js"
};

static const unsigned char file_110[] = {
#embed "../../Console/js/document/others.js"
};

static const unsigned char file_111[] = {
#embed "../../Console/js/document/own.js"
};

static const unsigned char file_112[] = {
#embed "../../Console/js/document/page.js"
};

static const unsigned char file_113[] = {
#embed "../../Console/js/document/preview.js"
};

static const unsigned char file_114[] = {
#embed "../../Console/js/document/remove.js"
};

static const unsigned char file_115[] = {
#embed "../../Console/js/document/saving.js"
};

static const unsigned char file_116[] = {
#embed "../../Console/js/document/store.js"
};

static const unsigned char file_117[] = {
#embed "../../Console/js/document/unsaved.js"
};

static const unsigned char file_118[] = {
#embed "../../Console/js/documents/actions.js"
};

static const unsigned char file_119[] = {
#embed "../../Console/js/documents/bulk.js"
};

static const unsigned char file_120[] = {
#embed "../../Console/js/documents/columns.js"
};

static const unsigned char file_121[] = {
#embed "../../Console/js/documents/export.js"
};

static const unsigned char file_122[] = {
#embed "../../Console/js/documents/facets.js"
};

static const unsigned char file_123[] = {
#embed "../../Console/js/documents/filter.js"
};

static const unsigned char file_124[] = {
#embed "../../Console/js/documents/lines.js"
};

static const unsigned char file_125[] = {
#embed "../../Console/js/documents/list.js"
};

static const unsigned char file_126[] = {
#embed "../../Console/js/documents/live.js"
};

static const unsigned char file_127[] = {
#embed "../../Console/js/documents/pages.js"
};

static const unsigned char file_128[] = {
#embed "../../Console/js/documents/selection.js"
};

static const unsigned char file_129[] = {
#embed "../../Console/js/documents/sources.js"
};

static const unsigned char file_130[] = {
#embed "../../Console/js/documents/tools.js"
};

static const unsigned char file_131[] = {
#embed "../../Console/js/documents/work.js"
};

static const unsigned char file_132[] = {
#embed "../../Console/js/live/filters.js"
};

static const unsigned char file_133[] = {
#embed "../../Console/js/live/line.js"
};

static const unsigned char file_134[] = {
#embed "../../Console/js/live/log.js"
};

static const unsigned char file_135[] = {
#embed "../../Console/js/live/shares.js"
};

static const unsigned char file_136[] = {
#embed "../../Console/js/live/start.js"
};

static const unsigned char file_137[] = {
#embed "../../Console/js/live/toolbar.js"
};

static const unsigned char file_138[] = {
#embed "../../Console/js/main.js"
};

static const unsigned char file_139[] = {
#embed "../../Console/js/maintenance/backup.js"
};

static const unsigned char file_140[] = {
#embed "../../Console/js/maintenance/operations.js"
};

static const unsigned char file_141[] = {
#embed "../../Console/js/maintenance/tasks.js"
};

static const unsigned char file_142[] = {
#embed "../../Console/js/routes.js"
};

static const unsigned char file_143[] = {
#embed "../../Console/js/server/about.js"
};

static const unsigned char file_144[] = {
#embed "../../Console/js/server/configuration.js"
};

static const unsigned char file_145[] = {
#embed "../../Console/js/server/keys-known.js"
};

static const unsigned char file_146[] = {
#embed "../../Console/js/server/log.js"
};

static const unsigned char file_147[] = {
#embed "../../Console/js/server/metrics.js"
};

static const unsigned char file_148[] = {
#embed "../../Console/js/server/tasks.js"
};

static const unsigned char file_149[] = {
#embed "../../Console/js/shell.js"
};

static const unsigned char file_150[] = {
#embed "../../Console/js/shell/account.js"
};

static const unsigned char file_151[] = {
#embed "../../Console/js/shell/database.js"
};

static const unsigned char file_152[] = {
#embed "../../Console/js/shell/keys.js"
};

static const unsigned char file_153[] = {
#embed "../../Console/js/shell/sign-in.js"
};

static const unsigned char file_154[] = {
#embed "../../Console/js/sync/actions.js"
};

static const unsigned char file_155[] = {
#embed "../../Console/js/sync/ask-panel.js"
};

static const unsigned char file_156[] = {
#embed "../../Console/js/sync/device-actions.js"
};

static const unsigned char file_157[] = {
#embed "../../Console/js/sync/device-link.js"
};

static const unsigned char file_158[] = {
#embed "../../Console/js/sync/device-row.js"
};

static const unsigned char file_159[] = {
#embed "../../Console/js/sync/edge.js"
};

static const unsigned char file_160[] = {
#embed "../../Console/js/sync/end-field.js"
};

static const unsigned char file_161[] = {
#embed "../../Console/js/sync/ends.js"
};

static const unsigned char file_162[] = {
#embed "../../Console/js/sync/jobs.js"
};

static const unsigned char file_163[] = {
#embed "../../Console/js/sync/pairing.js"
};

static const unsigned char file_164[] = {
#embed "../../Console/js/sync/peers.js"
};

static const unsigned char file_165[] = {
#embed "../../Console/js/sync/qr-picture.js"
};

static const unsigned char file_166[] = {
#embed "../../Console/js/sync/rates.js"
};

static const unsigned char file_167[] = {
#embed "../../Console/js/sync/row.js"
};

static const unsigned char file_168[] = {
#embed "../../Console/js/sync/scope-field.js"
};

static const unsigned char file_169[] = {
#embed "../../Console/js/sync/scope.js"
};

static const unsigned char file_170[] = {
#embed "../../Console/js/sync/timeline.js"
};

static const unsigned char file_171[] = {
#embed "../../Console/js/sync/why.js"
};

static const unsigned char file_172[] = {
#embed "../../Console/js/sync/words.js"
};

static const unsigned char file_173[] = {
#embed "../../Console/js/views/access.js"
};

static const unsigned char file_174[] = {
#embed "../../Console/js/views/ask.js"
};

static const unsigned char file_175[] = {
#embed "../../Console/js/views/conflicts.js"
};

static const unsigned char file_176[] = {
#embed "../../Console/js/views/database-access.js"
};

static const unsigned char file_177[] = {
#embed "../../Console/js/views/document.js"
};

static const unsigned char file_178[] = {
#embed "../../Console/js/views/documents.js"
};

static const unsigned char file_179[] = {
#embed "../../Console/js/views/history.js"
};

static const unsigned char file_180[] = {
#embed "../../Console/js/views/indexes.js"
};

static const unsigned char file_181[] = {
#embed "../../Console/js/views/live.js"
};

static const unsigned char file_182[] = {
#embed "../../Console/js/views/overview.js"
};

static const unsigned char file_183[] = {
#embed "../../Console/js/views/server.js"
};

static const unsigned char file_184[] = {
#embed "../../Console/js/views/storage.js"
};

static const unsigned char file_185[] = {
#embed "../../Console/js/views/sync-job.js"
};

static const unsigned char file_186[] = {
#embed "../../Console/js/views/sync-new.js"
};

static const unsigned char file_187[] = {
#embed "../../Console/js/views/sync.js"
};

#pragma clang diagnostic pop

static const struct divan_console_file files[] = {
    {"css/base.css", file_0, sizeof file_0},
    {"css/components.css", file_1, sizeof file_1},
    {"css/shell.css", file_2, sizeof file_2},
    {"css/tokens.css", file_3, sizeof file_3},
    {"css/views/access.css", file_4, sizeof file_4},
    {"css/views/ask.css", file_5, sizeof file_5},
    {"css/views/chart.css", file_6, sizeof file_6},
    {"css/views/conflicts.css", file_7, sizeof file_7},
    {"css/views/diff.css", file_8, sizeof file_8},
    {"css/views/document.css", file_9, sizeof file_9},
    {"css/views/documents.css", file_10, sizeof file_10},
    {"css/views/history.css", file_11, sizeof file_11},
    {"css/views/indexes.css", file_12, sizeof file_12},
    {"css/views/json-editor.css", file_13, sizeof file_13},
    {"css/views/live.css", file_14, sizeof file_14},
    {"css/views/overview.css", file_15, sizeof file_15},
    {"css/views/server.css", file_16, sizeof file_16},
    {"css/views/storage.css", file_17, sizeof file_17},
    {"css/views/sync.css", file_18, sizeof file_18},
    {"icon.svg", file_19, sizeof file_19},
    {"index.html", file_20, sizeof file_20},
    {"js/access/accounts.js", file_21, sizeof file_21},
    {"js/access/list-field.js", file_22, sizeof file_22},
    {"js/access/parts.js", file_23, sizeof file_23},
    {"js/access/permission.js", file_24, sizeof file_24},
    {"js/access/rights.js", file_25, sizeof file_25},
    {"js/access/roles.js", file_26, sizeof file_26},
    {"js/access/security.js", file_27, sizeof file_27},
    {"js/access/tokens.js", file_28, sizeof file_28},
    {"js/access/user-dialogs.js", file_29, sizeof file_29},
    {"js/access/users.js", file_30, sizeof file_30},
    {"js/access/you.js", file_31, sizeof file_31},
    {"js/api/changes.js", file_32, sizeof file_32},
    {"js/api/client.js", file_33, sizeof file_33},
    {"js/api/couch.js", file_34, sizeof file_34},
    {"js/api/exact.js", file_35, sizeof file_35},
    {"js/api/server.js", file_36, sizeof file_36},
    {"js/ask/advice.js", file_37, sizeof file_37},
    {"js/ask/builder-model.js", file_38, sizeof file_38},
    {"js/ask/builder.js", file_39, sizeof file_39},
    {"js/ask/chart-choice.js", file_40, sizeof file_40},
    {"js/ask/explain.js", file_41, sizeof file_41},
    {"js/ask/export.js", file_42, sizeof file_42},
    {"js/ask/forms.js", file_43, sizeof file_43},
    {"js/ask/places.js", file_44, sizeof file_44},
    {"js/ask/question.js", file_45, sizeof file_45},
    {"js/ask/results.js", file_46, sizeof file_46},
    {"js/ask/rows.js", file_47, sizeof file_47},
    {"js/ask/saved.js", file_48, sizeof file_48},
    {"js/ask/snippets.js", file_49, sizeof file_49},
    {"js/ask/table.js", file_50, sizeof file_50},
    {"js/components/button.js", file_51, sizeof file_51},
    {"js/components/chart.js", file_52, sizeof file_52},
    {"js/components/copy.js", file_53, sizeof file_53},
    {"js/components/dialog.js", file_54, sizeof file_54},
    {"js/components/diff.js", file_55, sizeof file_55},
    {"js/components/field.js", file_56, sizeof file_56},
    {"js/components/icon.js", file_57, sizeof file_57},
    {"js/components/json-editor-find.js", file_58, sizeof file_58},
    {"js/components/json-editor-folds.js", file_59, sizeof file_59},
    {"js/components/json-editor-history.js", file_60, sizeof file_60},
    {"js/components/json-editor-lines.js", file_61, sizeof file_61},
    {"js/components/json-editor-typing.js", file_62, sizeof file_62},
    {"js/components/json-editor.js", file_63, sizeof file_63},
    {"js/components/json-text.js", file_64, sizeof file_64},
    {"js/components/json-view.js", file_65, sizeof file_65},
    {"js/components/map.js", file_66, sizeof file_66},
    {"js/components/menu.js", file_67, sizeof file_67},
    {"js/components/progress.js", file_68, sizeof file_68},
    {"js/components/revision-tree.js", file_69, sizeof file_69},
    {"js/components/scale.js", file_70, sizeof file_70},
    {"js/components/states.js", file_71, sizeof file_71},
    {"js/components/tabs.js", file_72, sizeof file_72},
    {"js/components/toast.js", file_73, sizeof file_73},
    {"js/components/virtual-list.js", file_74, sizeof file_74},
    {"js/conflicts/load.js", file_75, sizeof file_75},
    {"js/conflicts/queue.js", file_76, sizeof file_76},
    {"js/conflicts/resolve.js", file_77, sizeof file_77},
    {"js/conflicts/rule-panel.js", file_78, sizeof file_78},
    {"js/conflicts/rules.js", file_79, sizeof file_79},
    {"js/conflicts/three-way.js", file_80, sizeof file_80},
    {"js/core/dom.js", file_81, sizeof file_81},
    {"js/core/download.js", file_82, sizeof file_82},
    {"js/core/format.js", file_83, sizeof file_83},
    {"js/core/json.js", file_84, sizeof file_84},
    {"js/core/keys.js", file_85, sizeof file_85},
    {"js/core/merge.js", file_86, sizeof file_86},
    {"js/core/revision.js", file_87, sizeof file_87},
    {"js/core/router.js", file_88, sizeof file_88},
    {"js/core/signal.js", file_89, sizeof file_89},
    {"js/core/style.js", file_90, sizeof file_90},
    {"js/core/waiting.js", file_91, sizeof file_91},
    {"js/databases/create-index.js", file_92, sizeof file_92},
    {"js/databases/create.js", file_93, sizeof file_93},
    {"js/databases/designs.js", file_94, sizeof file_94},
    {"js/databases/indexes.js", file_95, sizeof file_95},
    {"js/databases/line.js", file_96, sizeof file_96},
    {"js/databases/rates.js", file_97, sizeof file_97},
    {"js/databases/row.js", file_98, sizeof file_98},
    {"js/databases/sample.js", file_99, sizeof file_99},
    {"js/document/attachments.js", file_100, sizeof file_100},
    {"js/document/drafts.js", file_101, sizeof file_101},
    {"js/document/facts.js", file_102, sizeof file_102},
    {"js/document/feed.js", file_103, sizeof file_103},
    {"js/document/functions.js", file_104, sizeof file_104},
    {"js/document/head.js", file_105, sizeof file_105},
    {"js/document/layout.js", file_106, sizeof file_106},
    {"js/document/links.js", file_107, sizeof file_107},
    {"js/document/merge.js", file_108, sizeof file_108},
    {"js/document/missing.js", file_109, sizeof file_109},
    {"js/document/others.js", file_110, sizeof file_110},
    {"js/document/own.js", file_111, sizeof file_111},
    {"js/document/page.js", file_112, sizeof file_112},
    {"js/document/preview.js", file_113, sizeof file_113},
    {"js/document/remove.js", file_114, sizeof file_114},
    {"js/document/saving.js", file_115, sizeof file_115},
    {"js/document/store.js", file_116, sizeof file_116},
    {"js/document/unsaved.js", file_117, sizeof file_117},
    {"js/documents/actions.js", file_118, sizeof file_118},
    {"js/documents/bulk.js", file_119, sizeof file_119},
    {"js/documents/columns.js", file_120, sizeof file_120},
    {"js/documents/export.js", file_121, sizeof file_121},
    {"js/documents/facets.js", file_122, sizeof file_122},
    {"js/documents/filter.js", file_123, sizeof file_123},
    {"js/documents/lines.js", file_124, sizeof file_124},
    {"js/documents/list.js", file_125, sizeof file_125},
    {"js/documents/live.js", file_126, sizeof file_126},
    {"js/documents/pages.js", file_127, sizeof file_127},
    {"js/documents/selection.js", file_128, sizeof file_128},
    {"js/documents/sources.js", file_129, sizeof file_129},
    {"js/documents/tools.js", file_130, sizeof file_130},
    {"js/documents/work.js", file_131, sizeof file_131},
    {"js/live/filters.js", file_132, sizeof file_132},
    {"js/live/line.js", file_133, sizeof file_133},
    {"js/live/log.js", file_134, sizeof file_134},
    {"js/live/shares.js", file_135, sizeof file_135},
    {"js/live/start.js", file_136, sizeof file_136},
    {"js/live/toolbar.js", file_137, sizeof file_137},
    {"js/main.js", file_138, sizeof file_138},
    {"js/maintenance/backup.js", file_139, sizeof file_139},
    {"js/maintenance/operations.js", file_140, sizeof file_140},
    {"js/maintenance/tasks.js", file_141, sizeof file_141},
    {"js/routes.js", file_142, sizeof file_142},
    {"js/server/about.js", file_143, sizeof file_143},
    {"js/server/configuration.js", file_144, sizeof file_144},
    {"js/server/keys-known.js", file_145, sizeof file_145},
    {"js/server/log.js", file_146, sizeof file_146},
    {"js/server/metrics.js", file_147, sizeof file_147},
    {"js/server/tasks.js", file_148, sizeof file_148},
    {"js/shell.js", file_149, sizeof file_149},
    {"js/shell/account.js", file_150, sizeof file_150},
    {"js/shell/database.js", file_151, sizeof file_151},
    {"js/shell/keys.js", file_152, sizeof file_152},
    {"js/shell/sign-in.js", file_153, sizeof file_153},
    {"js/sync/actions.js", file_154, sizeof file_154},
    {"js/sync/ask-panel.js", file_155, sizeof file_155},
    {"js/sync/device-actions.js", file_156, sizeof file_156},
    {"js/sync/device-link.js", file_157, sizeof file_157},
    {"js/sync/device-row.js", file_158, sizeof file_158},
    {"js/sync/edge.js", file_159, sizeof file_159},
    {"js/sync/end-field.js", file_160, sizeof file_160},
    {"js/sync/ends.js", file_161, sizeof file_161},
    {"js/sync/jobs.js", file_162, sizeof file_162},
    {"js/sync/pairing.js", file_163, sizeof file_163},
    {"js/sync/peers.js", file_164, sizeof file_164},
    {"js/sync/qr-picture.js", file_165, sizeof file_165},
    {"js/sync/rates.js", file_166, sizeof file_166},
    {"js/sync/row.js", file_167, sizeof file_167},
    {"js/sync/scope-field.js", file_168, sizeof file_168},
    {"js/sync/scope.js", file_169, sizeof file_169},
    {"js/sync/timeline.js", file_170, sizeof file_170},
    {"js/sync/why.js", file_171, sizeof file_171},
    {"js/sync/words.js", file_172, sizeof file_172},
    {"js/views/access.js", file_173, sizeof file_173},
    {"js/views/ask.js", file_174, sizeof file_174},
    {"js/views/conflicts.js", file_175, sizeof file_175},
    {"js/views/database-access.js", file_176, sizeof file_176},
    {"js/views/document.js", file_177, sizeof file_177},
    {"js/views/documents.js", file_178, sizeof file_178},
    {"js/views/history.js", file_179, sizeof file_179},
    {"js/views/indexes.js", file_180, sizeof file_180},
    {"js/views/live.js", file_181, sizeof file_181},
    {"js/views/overview.js", file_182, sizeof file_182},
    {"js/views/server.js", file_183, sizeof file_183},
    {"js/views/storage.js", file_184, sizeof file_184},
    {"js/views/sync-job.js", file_185, sizeof file_185},
    {"js/views/sync-new.js", file_186, sizeof file_186},
    {"js/views/sync.js", file_187, sizeof file_187},
};

size_t divan_console_count(void) { return sizeof files / sizeof files[0]; }

struct divan_console_file divan_console_file(size_t number) { return files[number]; }
