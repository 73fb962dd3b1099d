// SPDX-License-Identifier: Apache-2.0

import { viewOfParts } from "../access/parts.js";
import { has } from "../api/server.js";
import { useStyle } from "../core/style.js";
import { aboutPart } from "../server/about.js";
import { configurationPart } from "../server/configuration.js";
import { logPart } from "../server/log.js";
import { metricsPart } from "../server/metrics.js";
import { tasksPart } from "../server/tasks.js";

await Promise.all([useStyle("access"), useStyle("server")]);

export default viewOfParts({
  place: "server", label: "Server",
    refusal: "Only administrators see what the server does and its configuration.",
  parts: [
    { part: "metrics", label: "Metrics", icon: "chart", role: "_metrics", render: metricsPart },
    { part: "tasks", label: "Active tasks", icon: "sync", render: tasksPart },
    { part: "log", label: "Log", icon: "document", isFull: has("divan-log"), render: logPart },
    { part: "configuration", label: "Configuration", icon: "edit", render: configurationPart },
    { part: "about", label: "About", icon: "info", role: "*", render: aboutPart },
  ],
});
