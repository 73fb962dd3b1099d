// SPDX-License-Identifier: Apache-2.0

import { viewOfParts } from "../access/parts.js";
import { isOpenToAll } from "../access/permission.js";
import { rightsPart } from "../access/rights.js";
import { rolesPart } from "../access/roles.js";
import { tokensPart } from "../access/tokens.js";
import { openNote, usersPart } from "../access/users.js";
import { youPart } from "../access/you.js";
import { useStyle } from "../core/style.js";

await useStyle("access");

export default viewOfParts({
  place: "access", label: "Access", refusal: "Only administrators see the users, roles and tokens.",
    above: () => isOpenToAll() && openNote(),
  parts: [
    { part: "users", label: "Users", icon: "user", render: usersPart },
    { part: "roles", label: "Roles", icon: "key", render: rolesPart },
    { part: "rights", label: "User permissions", icon: "search", render: rightsPart },
    { part: "tokens", label: "Tokens", icon: "lock", render: tokensPart },
    { part: "you", label: "Your session", icon: "info", role: "*", render: youPart },
  ],
});
