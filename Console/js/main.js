// SPDX-License-Identifier: Apache-2.0

import { Shell } from "./shell.js";

new Shell(/** @type {HTMLElement} */ (document.getElementById("app"))).start();
