"use strict";
// The data of the page and its logic. Knows no document: every function here takes what it needs and returns a value.

const KINDS = ["decoder.cross", "reader.read", "decoder.self", "encoder.self"];
const KIND_NAMES = { "decoder.cross": "Cross", "reader.read": "Reader", "decoder.self": "Decoder self", "encoder.self": "Encoder self" };
// What attends to what, for each kind.
const KIND_NOTES = {
  "decoder.cross": "Each step of the output attends to the source tokens.",
  "reader.read": "The answer attends to the source tokens.",
  "decoder.self": "Each step of the output attends to the output so far.",
  "encoder.self": "Each source token attends to all source tokens.",
};
const ROW_NOTES = { "decoder.cross": "output token → the one predicted next", "reader.read": "label", "decoder.self": "output token → the one predicted next", "encoder.self": "source token" };
const COLUMN_NOTES = { "decoder.cross": "source tokens", "reader.read": "source tokens", "decoder.self": "output tokens so far", "encoder.self": "source tokens" };
const MARKERS = ["<s>", "</s>"];

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

// Float32Array [H T S]; uint8 weights are given back as multiples of 1/255.
function weightsOf(map) {
  if (!map.decoded) {
    const bytes = bytesOf(map.weights);
    if (map.encoding === "float32") {
      const view = new DataView(bytes.buffer);
      map.decoded = Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
    } else {
      map.decoded = Float32Array.from(bytes, (byte) => byte / 255);
    }
  }
  return map.decoded;
}

// Uint8Array [1|H T S] of 1 = may attend, or null where everything may.
function maskOf(map) {
  if (map.mask !== null && !map.allowed) {
    const bytes = bytesOf(map.mask);
    const size = map.mask_heads * map.rows * map.columns;
    map.allowed = Uint8Array.from({ length: size }, (_, i) => (bytes[i >> 3] >> (7 - (i & 7))) & 1);
  }
  return map.mask === null ? null : map.allowed;
}

function kindOf(map) {
  const [stack, , source] = map.name.split(".");
  return `${stack}.${source}`;
}

function layerOf(map) {
  return Number(map.name.split(".")[1]);
}

// "Cross-attention, decoder layer 1" for decoder.1.cross.
function mapTitle(map) {
  const [stack, layer, source] = map.name.split(".");
  if (stack === "reader") return `Attention for the label, reading ${layer}`;
  return `${source === "cross" ? "Cross" : "Self"}-attention, ${stack} layer ${layer}`;
}

function mapsOfKind(trace, kind) {
  return trace.maps.filter((map) => kindOf(map) === kind);
}

// {weights, allowed, rows, columns}: the mean over the chosen heads; a place is masked where it is so for all of them.
function matrixOf(map, heads) {
  const size = map.rows * map.columns;
  const all = weightsOf(map);
  const mask = maskOf(map);
  const weights = new Float32Array(size);
  const allowed = new Uint8Array(size);
  for (let i = 0; i < size; i++) {
    let sum = 0;
    for (const head of heads) {
      sum += all[head * size + i];
      allowed[i] |= mask === null ? 1 : mask[(map.mask_heads === 1 ? 0 : head) * size + i];
    }
    weights[i] = sum / heads.length;
  }
  return { weights, allowed, rows: map.rows, columns: map.columns };
}

// `before` holds what a decoder row consumed; its full label is `consumed → predicted`.
function labelsOf(trace, kind) {
  if (kind === "encoder.self") return { rows: trace.source, columns: trace.source, before: null };
  if (kind === "reader.read") return { rows: trace.predicted, columns: trace.source, before: null };
  const columns = kind === "decoder.self" ? trace.consumed : trace.source;
  return { rows: trace.predicted, columns, before: trace.consumed };
}

function rowLabel(labels, t) {
  return labels.before ? `${labels.before[t]} → ${labels.rows[t]}` : labels.rows[t];
}

// One row or column of a matrix as entries {place, weight, allowed}.
function lineOf(matrix, axis, index) {
  const length = axis === "row" ? matrix.columns : matrix.rows;
  return Array.from({ length }, (_, place) => {
    const i = axis === "row" ? index * matrix.columns + place : place * matrix.columns + index;
    return { place, weight: matrix.weights[i], allowed: matrix.allowed[i] === 1 };
  });
}

// Largest first (ties by place), each with the sum of the weights so far.
function ranked(entries) {
  let sum = 0;
  return [...entries]
    .sort((a, b) => b.weight - a.weight || a.place - b.place)
    .map((entry, rank) => ({ ...entry, rank, cumulative: (sum += entry.weight) }));
}

// The fewest largest entries whose weights reach this share of the line's sum; none of an empty line.
function largest(entries, share) {
  const order = ranked(entries);
  const total = order.length ? order[order.length - 1].cumulative : 0;
  if (total <= 0) return [];
  const needed = share * total * (1 - 1e-6);
  return order.filter((entry) => entry.weight > 0 && entry.cumulative - entry.weight < needed);
}

// The shortest decimal that is this float32.
function shortest(value) {
  for (let digits = 1; digits < 9; digits++) {
    if (Math.fround(Number(value.toPrecision(digits))) === value) return String(Number(value.toPrecision(digits)));
  }
  return String(Number(value.toPrecision(9)));
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g;

function isRightToLeft(tokens) {
  const text = tokens.filter((token) => !MARKERS.includes(token)).join("");
  return (text.match(RIGHT_TO_LEFT) || []).length > (text.match(/\p{L}/gu) || []).length / 2;
}

// `consumed → predicted` for places without <bdi>: right-to-left pieces in isolates keep the arrow's direction.
function isolatedLabel(labels, t) {
  const isolated = (text) => (text.match(RIGHT_TO_LEFT) ? `\u2068${text}\u2069` : text);
  return labels.before ? `${isolated(labels.before[t])} → ${isolated(labels.rows[t])}` : labels.rows[t];
}

// The same matrix with its first column last: as it is drawn where columns are read from right to left.
function mirrored(matrix) {
  const turned = (values) => values.map((_, i) => values[i - (i % matrix.columns) + matrix.columns - 1 - (i % matrix.columns)]);
  return { ...matrix, weights: turned(matrix.weights), allowed: turned(matrix.allowed) };
}

// The pieces as one text: the stored one, or the pieces joined as their kind is.
function textOf(trace, side) {
  if (trace[`${side}_text`]) return trace[`${side}_text`];
  const pieces = (side === "source" ? trace.source : trace.predicted).filter((piece) => !MARKERS.includes(piece));
  const joined = pieces.every((piece) => [...piece].length === 1) || pieces.some((piece) => piece.startsWith("▁"));
  return pieces.join(joined ? "" : " ").replace(/[▁␣]/g, " ").trim();
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

// The state of the page: which trace, map and heads, what is pinned, how it looks. `heads` null = all.
const START = { trace: 0, map: null, heads: null, row: null, column: null, share: 90, sort: "weight", theme: "auto" };

function parseState(hash, traces) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const whole = (name, limit, otherwise) => {
    const text = given.get(name);
    return text !== null && /^\d+$/.test(text) && Number(text) < limit ? Number(text) : otherwise;
  };
  const state = { ...START, trace: whole("trace", traces.length, 0) };
  const trace = traces[state.trace];
  const map = trace.maps.find((one) => one.name === given.get("map")) || firstMap(trace);
  state.map = map.name;
  const heads = (given.get("heads") || "").split(/[+ ]/).filter((text) => /^\d+$/.test(text)).map(Number);
  const known = [...new Set(heads)].filter((head) => head < map.heads).sort((a, b) => a - b);
  state.heads = known.length ? known : null;
  state.row = whole("row", map.rows, null);
  state.column = whole("column", map.columns, null);
  state.share = Math.max(10, whole("share", 101, START.share));
  state.sort = given.get("sort") === "place" ? "place" : "weight";
  state.theme = ["light", "dark"].includes(given.get("theme")) ? given.get("theme") : "auto";
  return state;
}

function formatState(state) {
  const parts = [`trace=${state.trace}`, `map=${state.map}`];
  if (state.heads) parts.push(`heads=${state.heads.join("%2B")}`);
  for (const name of ["row", "column"]) if (state[name] !== null) parts.push(`${name}=${state[name]}`);
  for (const name of ["share", "sort", "theme"]) if (state[name] !== START[name]) parts.push(`${name}=${state[name]}`);
  return `#${parts.join("&")}`;
}

// The last layer's cross-attention if there is one, else the last map of the first kind there is.
function firstMap(trace) {
  return KINDS.map((kind) => mapsOfKind(trace, kind).at(-1)).find((map) => map !== undefined);
}

function headsOf(state, map) {
  return state.heads || Array.from({ length: map.heads }, (_, head) => head);
}

function headName(heads, map) {
  if (map.heads === 1) return "its only head";
  if (heads === null || heads.length === map.heads) return `mean of ${map.heads} heads`;
  return heads.length === 1 ? `head ${heads[0]}` : `mean of heads ${heads.join(", ")}`;
}

// RFC 4180, with the labels in the first line and column.
function csvOf(matrix, rows, columns) {
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
  const lines = [["", ...columns].map(quoted).join(",")];
  rows.forEach((label, t) => {
    const line = lineOf(matrix, "row", t).map((entry) => (entry.allowed ? shortest(entry.weight) : ""));
    lines.push([quoted(label), ...line].join(","));
  });
  return lines.join("\r\n") + "\r\n";
}
