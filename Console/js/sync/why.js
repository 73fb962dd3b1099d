// SPDX-License-Identifier: Apache-2.0

import { designDocuments, find } from "../api/couch.js";
import { api, path } from "../api/client.js";
import { isDivan } from "../api/server.js";
import { plural } from "../core/format.js";
import { sequenceNumber } from "../core/revision.js";
import { allChanges, changesWithin, scopeOfDocument } from "./scope.js";

/**
 * Why a document has not come to the target of a replication: what was found out step by step, and the answer.
 * Nothing is written.
 *
 * @typedef {{ isFine: boolean | null, text: string }} Step `isFine` is null for what could not be found out.
 * @typedef {{ tone: "success" | "warning" | "danger" | "info", sentence: string, steps: Step[] }} Answer
 *
 * @param {import("./jobs.js").Job} job
 * @param {string} id
 * @param {AbortSignal} signal
 * @param {(text: string) => void} onProgress
 * @returns {Promise<Answer>}
 */
export async function explainDocument(job, id, signal, onProgress) {
  /** @type {Step[]} */
  const steps = [];
  const tell = (/** @type {boolean | null} */ isFine, /** @type {string} */ text) => { steps.push({ isFine, text }); };
  /**
   * @param {Answer["tone"]} tone
   * @param {string} sentence
   */
  const answer = (tone, sentence) => ({ tone, sentence, steps });
  const scope = scopeOfDocument(job.document), { localSource: source, localTarget: target } = job;

  if (!source) {
    tell(null, `The source is ${job.source}, which the console cannot reach.`);
    const is = target && await currentChange(target, id, signal);
    if (target) tell(Boolean(is), is ? `${target} has the document, in revision ${is.changes[0].rev}.`
      : `${target} does not have the document.`);
    if (scope.docIDs && !scope.docIDs.includes(id)) return answer("warning",
      "The replication sends the documents of a list of IDs, and this ID is not among them.");
    return answer("info", is
      ? "The document is in the target. Whether it is the source's latest revision must be asked at the source."
      : "The document is not in the target. The source must be asked whether it has it: "
        + "open its console, or see its changes feed.");
  }
  const change = await currentChange(source, id, signal);
  if (!change) {
    tell(false, `${source} does not have the document.`);
    return answer("warning", `It was not sent because ${source} has no document “${id}”. IDs are case-sensitive.`);
  }
  tell(true, `${source} has the document${change.deleted ? ", deleted," : ""} in revision ${change.changes[0].rev}.`);

  if (job.document?.since_seq && !await hasChangedSince(source, id, job.document.since_seq, signal)) {
    tell(false, "The replication begins after the document's last change (since_seq).");
    return answer("warning",
      "It was not sent because it last changed before the point at which the replication begins.");
  }
  const passes = await passesScope(source, change, scope, signal, onProgress);
  if (passes.text) tell(passes.isFine, passes.text);
  if (passes.isFine === false) return answer("warning", `It was not sent because ${passes.because}`);

  if (!target) {
    tell(null, `The target is ${job.target}, which the console cannot reach.`);
  } else {
    const revs = job.document?.winning_revs_only ? [change.changes[0].rev]
      : change.changes.map((/** @type {any} */ one) => one.rev);
    const lacking = (await api.post(path(target, "_revs_diff"), { [id]: revs }, { signal }))[id]?.missing ?? [];
    if (!lacking.length) {
      tell(true, `${target} has ${plural(revs.length, "current revision")} of it, and lacks none.`);
      return answer("success", `It was sent: ${target} has the same ${revs.length > 1 ? "revisions" : "revision"}.`);
    }
    tell(false, `${target} lacks ${lacking.join(", ")}.`);
  }
  return afterSending(job, change, tell, answer, signal);
}

/**
 * What remains when the document should have been sent: it is on its way, or the target refuses it.
 *
 * @param {import("./jobs.js").Job} job
 * @param {any} change
 * @param {(isFine: boolean | null, text: string) => void} tell
 * @param {(tone: Answer["tone"], sentence: string) => Answer} answer
 * @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 */
async function afterSending(job, change, tell, answer, signal) {
  const { throughSeq, refused, pending } = job.info;
  if (job.state !== "running" && job.state !== "completed") {
    tell(false, `The replication does not run: it is ${job.state}.`);
    return answer("danger", `It is not sent because the replication does not run${job.error ? `: ${job.error}` : "."}`);
  }
  const through = throughSeq ?? job.info.checkpoint;
  const isReached = through !== null
    && !await hasChangedSince(String(job.localSource), change.id, through, signal);
  // The numbers of a CouchDB depend on the feed that told them.
  tell(isReached, isDivan() ? `The document is change ${sequenceNumber(change.seq)} of the source; `
    + `the replication has processed changes up to ${sequenceNumber(through)}.`
    : `The replication has ${isReached ? "processed" : "not processed"} the document's last change.`);
  if (!isReached) {
    return job.state === "completed"
      ? answer("warning",
        "It was not sent because it changed after the replication had ended. Restart the replication.")
      : answer("info", "It is on its way: the replication has not reached it yet"
        + `${pending ? `; ${plural(pending, "change remains", "changes remain")}` : ""}.`);
  }
  if (!job.localTarget) {
    return answer(refused ? "warning" : "info", refused
      ? `It was probably refused by the target, which has refused ${plural(refused, "document")}. `
        + "The target's validation functions say why."
      : "The replication processed it and reports no refusal, so the target should have it.");
  }
  const validators = (await designDocuments(job.localTarget, signal)).filter((design) => design.validate_doc_update);
  const names = validators.map((design) => design._id).join(", ");
  tell(validators.length ? null : true, validators.length ? `${job.localTarget} validates documents by ${names}.`
    : `${job.localTarget} has no validation function.`);
  tell(!refused, `The target refused ${plural(refused, "document")} in this run.`);
  if (validators.length) {
    const inThisRun = refused
      ? `: ${plural(refused, "document")} in this run ${refused === 1 ? "was" : "were"}`
      : "";
    return answer("danger", `It was probably refused by the validation of ${job.localTarget} (${names})${inThisRun}. `
      + "Compare the document with what the function requires, then save it again.");
  }
  return answer("warning", refused
    ? "It was probably refused: the target's access rules or limits allow no such document "
      + `(${plural(refused, "refusal")} in this run).`
    : `It was sent once, and ${job.localTarget} has removed it since, such as by a purge. `
      + "Save the document again, or restart the replication without its checkpoint.");
}

/**
 * Whether a document has changed after a sequence. The source is asked, since the sequences of a CouchDB have no order
 * that can be read from them.
 *
 * @param {string} source
 * @param {string} id
 * @param {any} since
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
async function hasChangedSince(source, id, since, signal) {
  const { results } = await changesWithin(source, { docIDs: [id] }, { since }, signal);
  return results.some((one) => one.id === id);
}

/**
 * The latest change of a document; null when there is none.
 *
 * @param {string} database
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
async function currentChange(database, id, signal) {
  return (await changesWithin(database, { docIDs: [id] }, { style: "all_docs" }, signal)).results.find((one) =>
    one.id === id) ?? null;
}

/**
 * Whether a document is among those that a replication sends.
 *
 * @param {string} source
 * @param {any} change
 * @param {import("./scope.js").Scope} scope
 * @param {AbortSignal} signal
 * @param {(text: string) => void} onProgress
 * @returns {Promise<{ isFine: boolean | null, text: string, because: string }>}
 */
async function passesScope(source, change, scope, signal, onProgress) {
  const id = change.id;
  if (scope.docIDs) {
    const isFine = scope.docIDs.includes(id);
    return { isFine, text: isFine ? "Its ID is in the list of IDs." : "Its ID is not in the list of IDs.",
      because: "the replication sends the documents of a list of IDs, and this ID is not among them." };
  }
  if (scope.selector) {
    const selector = { $and: [{ _id: id }, scope.selector] };
    const isFine = change.deleted ? (await changesWithin(source, { selector }, {}, signal)).results.length > 0
      : (await find(source, { selector, fields: ["_id"], limit: 1 }, { signal })).docs.length > 0;
    const because = "the selector does not match it"
      + `${change.deleted ? ". A deleted document has only the properties that it was deleted with" : ""}.`;
    return { isFine, text: isFine ? "The selector matches it." : "The selector does not match it.", because };
  }
  if (!scope.filter) return { isFine: true, text: "", because: "" };
  const isFine = await passesFilter(source, change, scope, signal, onProgress);
  return { isFine, text: `The filter ${scope.filter} ${isFine ? "passes" : "does not pass"} it.`,
    because: `the filter ${scope.filter} does not pass it.` };
}

/**
 * Asks the server whether a filter function passes a document: it tells so only in the feed.
 *
 * Where a number alone is a place in the feed, the feed from just before the document is asked. CouchDB's places are
 * more than a
 * number: there the filtered feed is read until the document comes.
 *
 * @param {string} source
 * @param {any} change
 * @param {import("./scope.js").Scope} scope
 * @param {AbortSignal} signal
 * @param {(text: string) => void} onProgress
 */
async function passesFilter(source, change, scope, signal, onProgress) {
  const before = sequenceNumber(change.seq) - 1;
  const first = async (/** @type {import("./scope.js").Scope} */ within) =>
    (await changesWithin(source, within, { since: String(before), limit: 1 }, signal)).results[0]?.id;
  const isPlace = await first({}).then((id) => id === change.id, () => false);
  if (isPlace) return await first(scope) === change.id;
  let read = 0;
  for await (const results of allChanges(source, scope, {}, signal)) {
    onProgress(`Reading what the filter passes: ${plural(read += results.length, "change")}`);
    if (results.some((one) => one.id === change.id)) return true;
  }
  return false;
}
