// SPDX-License-Identifier: Apache-2.0

import { h } from "../core/dom.js";
import { button } from "../components/button.js";
import { copyText } from "../components/copy.js";
import { icon } from "../components/icon.js";

const COMMANDS = [
  ["divan serve DIR --qr notes",
    "serves the databases and draws a QR code: a device that scans it shares the database notes"],
  ["divan pair LINK DIR", "pairs this device with the one that shows the link"],
  ["divan peers DIR", "lists the paired devices; --revoke ID takes one's access away"],
];

/**
 * How devices on one network are paired. A listener does not offer this over HTTP, so the panel names the commands.
 *
 * @returns {HTMLElement}
 */
export function peersPanel() {
  return h("section.panel", { "aria-label": "Devices on this network" },
    h("header", null, icon("qr"), h("h2", null, "Devices on this network")),
    h("div.body.column", null,
      h("p.soft", null, "Devices that run Divan can be paired without a server, by a QR code. "
        + "This is done in a shell on the device or in its app, not over HTTP:"),
      h("ul.column.tight", null, COMMANDS.map(([command, does]) => h("li.row.nowrap.top", null,
        h("div.grow", null, h("code.strong", null, command), h("div.small.soft", null, does)),
        button({ title: `Copy ${command}`, icon: "copy", kind: "plain small",
          onclick: () => copyText(command, "The command") }))))));
}
