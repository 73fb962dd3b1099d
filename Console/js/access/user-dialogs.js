// SPDX-License-Identifier: Apache-2.0

import { isDivan, session, signIn } from "../api/server.js";
import { openDialog, Refusal } from "../components/dialog.js";
import { field, input, select } from "../components/field.js";
import { toast } from "../components/toast.js";
import { changeUser, createUser, hasKey, setKey } from "./accounts.js";
import { listField } from "./list-field.js";

/** What refuses a request, shown at a field rather than below all. */
class Fields {
  isRight = true;

  /**
   * @param {{ wrong: string }} line
   * @param {string | false} reason
   */
  check(line, reason) {
    line.wrong = reason || "";
    if (reason) this.isRight = false;
  }

  done() { if (!this.isRight) throw new Refusal(); }
}

/** @param {string} label */
function passwordField(label) {
  const box = input({ type: "password", autocomplete: "new-password" });
  return { box, line: field({ label, input: box }) };
}

const ROLES_HINT = "Press Enter or a comma to add a role. Databases use roles in their access.";
const ownRole = (/** @type {string[]} */ roles) => roles.some((role) => role.startsWith("_"))
  && "A role of a user cannot begin with an underscore.";

/**
 * Makes a user, or an administrator; true when one was made.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
export async function createDialog(signal) {
  const name = input({ autofocus: true }), nameLine = field({ label: "Name", input: name });
  const { box: password, line: passwordLine } = passwordField("Password");
  const roles = listField({ label: "Roles", values: [], hint: ROLES_HINT });
  const kind = select([
    { value: "user", label: "User, with a document in _users" },
      { value: "admin", label: "Administrator of the server, in the configuration" },
  ], "user", { onchange: () => { roles.hidden = kind.value === "admin"; } });
  return await openDialog({
    title: "New user", action: "Create the user", signal,
      body: [field({ label: "Kind", input: kind }), nameLine, passwordLine, roles],
    submit: async () => {
      const fields = new Fields();
      fields.check(nameLine, !name.value ? "Enter a name." : name.value.includes(":") && "A name cannot have a colon.");
      fields.check(passwordLine, !password.value && "Enter a password.");
      fields.check(roles, !roles.hidden && ownRole(roles.values));
      fields.done();
      if (kind.value === "admin") {
        // To set the key of an administrator who is there would change the password.
        if (await hasKey("admins", name.value)) {
          nameLine.wrong = "An administrator with this name exists.";
          throw new Refusal();
        }
        await setKey("admins", name.value, password.value);
      } else {
        try { await createUser(name.value, password.value, roles.values); } catch (error) {
          if (/** @type {any} */ (error).status !== 409) throw error;
          nameLine.wrong = "A user with this name exists.";
          throw new Refusal();
        }
      }
      toast(`${kind.value === "admin" ? "The administrator" : "The user"} ${name.value} was created.`);
      return true;
    },
  }) ?? false;
}

/**
 * @param {string} name
 * @param {string[]} roles
 * @param {string} rev The revision that has these roles: a later one is not replaced.
 * @returns {Promise<boolean>} Whether the account is another now than it was in this revision.
 */
export async function rolesDialog(name, roles, rev) {
  const line = listField({ label: "Roles", values: roles, hint: ROLES_HINT });
  let isOld = false;
  const done = await openDialog({
    title: `Roles of ${name}`, action: "Change the roles", body: line,
    submit: async () => {
      const fields = new Fields();
      fields.check(line, ownRole(line.values));
      fields.done();
      await changeUser(name, { roles: line.values }, rev).catch((error) => {
        isOld ||= error.status === 409;
        throw error;
      });
      toast(`Changed the roles of ${name}.`);
      return true;
    },
  });
  return done ?? isOld;
}

/**
 * Gives a user another password. Sessions that the old one has begun end, so one's own is begun anew.
 *
 * @param {string} name
 * @param {boolean} isAdmin Whether the configuration has the password.
 * @returns {Promise<boolean>}
 */
export async function passwordDialog(name, isAdmin) {
  const { box, line } = passwordField("New password"),
    { box: again, line: againLine } = passwordField("Repeat the password");
  const isOwn = name === session.value?.name;
  return await openDialog({
    title: isOwn ? "Change your password" : `Password of ${name}`, action: "Change the password",
      body: [line, againLine],
    submit: async () => {
      const fields = new Fields();
      fields.check(line, !box.value && "Enter a password.");
      fields.check(againLine, again.value !== box.value && "The passwords differ.");
      fields.done();
      if (isAdmin) await setKey("admins", name, box.value);
      else await changeUser(name, { password: box.value });
      if (isOwn) await signIn(name, box.value);
      toast(`Changed the password of ${name}.${isDivan() ? " Sessions with the old password have ended." : ""}`);
      return true;
    },
  }) ?? false;
}
