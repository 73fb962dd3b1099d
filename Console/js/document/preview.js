// SPDX-License-Identifier: Apache-2.0

import { send } from "../api/client.js";
import { loading } from "../components/states.js";
import { h } from "../core/dom.js";

const MOST_TEXT = 64_000;

/**
 * How an attachment is shown, or null for what can only be downloaded.
 *
 * An attachment comes from anywhere: images, SVG among them, are drawn by `img`, which runs no script, and text is
 * shown as text. HTML is never opened as a page of the console's origin.
 *
 * @param {{ href: string, path: string, type: string, length: number, name: string, signal: AbortSignal }} attachment
 * @returns {(() => HTMLElement) | null}
 */
export function preview({ href, path, type, length, name, signal }) {
  const kind = type.split(";")[0].trim().toLowerCase();
  if (kind.startsWith("image/")) return () => h("img.preview", { src: href, alt: `Preview of ${name}` });
  if (kind.startsWith("audio/")) return () => h("audio.preview", { src: href, controls: true });
  if (kind.startsWith("video/")) return () => h("video.preview", { src: href, controls: true });
  if (length > MOST_TEXT || !/^text\/|[/+](?:json|xml|javascript|yaml|toml|x-sh)$/.test(kind)) return null;
  const query = Object.fromEntries(new URL(href).searchParams);
  return () => loading({
    signal, bars: 2,
    load: async () => (await send("GET", path, { query, signal, headers: { Accept: "*/*" } })).text(),
    render: (text) => h("pre.preview", { dir: "auto", tabindex: 0 }, text),
  });
}
