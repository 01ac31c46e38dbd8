// Links: the state of the page as a fragment of its address, JSON that is deflated and written in base64url.
"use strict";

Lab.link = (() => {
  const through = async (bytes, stream) =>
    new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

  function toBase64Url(bytes) {
    let text = "";
    for (let from = 0; from < bytes.length; from += 8192) text += String.fromCharCode(...bytes.subarray(from, from + 8192));
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  const fromBase64Url = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));

  const pack = async (state) =>
    toBase64Url(await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw")));

  async function unpackText(text) {
    try {
      return new TextDecoder().decode(await through(fromBase64Url(text), new DecompressionStream("deflate-raw")));
    } catch {
      throw new Error("link: its state cannot be read, because part of the link is missing or altered; fix: copy the whole link again");
    }
  }

  const unpack = async (text) => JSON.parse(await unpackText(text));

  /** The members of a fragment such as `#example=ecn&frame`. */
  const readFragment = (hash) => new Map(new URLSearchParams(hash.replace(/^#/, "")));

  return { pack, unpack, unpackText, readFragment };
})();
