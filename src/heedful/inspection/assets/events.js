// Mouse, keys, window and address: they change the state or `hover`, and have it shown. Starts the page.

function pin(row, column) {
  const same = state.row === row && state.column === column;
  set(same ? { row: null, column: null } : { row, column });
  hover = null;
  showFocus();
  if (!same) announce();
}

function announce() {
  const { labels, matrix } = now;
  const { row, column } = state;
  const texts = [];
  if (row !== null) texts.push(rowLabel(labels, row));
  if (column !== null) texts.push(labels.columns[column]);
  if (row !== null && column !== null) {
    const entry = lineOf(matrix, "row", row)[column];
    texts.push(entry.allowed ? `weight ${entry.weight.toFixed(3)}` : "masked");
  }
  at("live").textContent = texts.join(", ");
}

function placeOf(target) {
  const found = target.closest ? target.closest("[data-axis]") : null;
  if (!found) return null;
  const place = Number(found.dataset.place);
  return found.dataset.axis === "row" ? { row: place, column: null } : { row: null, column: place };
}

function hoverOn(place) {
  if (JSON.stringify(place) === JSON.stringify(hover)) return;
  hover = place;
  showFocus();
}

function moveCell(by) {
  const { matrix } = now;
  const clamp = (value, limit) => Math.min(limit - 1, Math.max(0, value));
  const from = { row: state.row ?? 0, column: state.column ?? 0 };
  const first = state.row === null && state.column === null;
  set({
    row: first ? 0 : clamp(from.row + by[0], matrix.rows),
    column: first ? 0 : clamp(from.column + by[1], matrix.columns),
  });
  hover = null;
  showFocus();
  announce();
  const label = (id, place) => at(id).children[place].scrollIntoView({ block: "nearest", inline: "nearest" });
  label("rows", state.row);
  label("columns", state.column);
}

function stepHead(by) {
  const count = now.map.heads;
  const current = state.heads && state.heads.length === 1 ? state.heads[0] : -1;
  const next = ((current + 1 + by + count + 1) % (count + 1)) - 1;
  chooseHeads(now.map.name, next < 0 ? null : [next]);
}

function stepLayer(by) {
  const maps = mapsOfKind(now.trace, now.kind);
  const next = maps[maps.indexOf(now.map) + by];
  if (next) chooseHeads(next.name, state.heads && state.heads.every((head) => head < next.heads) ? state.heads : null);
}

function save(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function fileName(suffix) {
  return `${now.map.name}-${headName(state.heads, now.map).replace(/[ ,]+/g, "-")}.${suffix}`;
}

function listenToPlaces() {
  for (const id of ["sentence", "heat", "table"]) {
    at(id).addEventListener("pointerover", (event) => {
      if (event.pointerType === "touch" || at("plane").contains(event.target)) return;
      const place = placeOf(event.target);
      if (id === "table") return; // the table follows the focus: hovering it must not change it
      hoverOn(place);
    });
    at(id).addEventListener("pointerleave", () => hoverOn(null));
    at(id).addEventListener("click", (event) => {
      const place = placeOf(event.target);
      if (place && !at("plane").contains(event.target)) {
        const cell = id === "table" && state.row !== null && place.row === null ? { row: state.row, column: place.column } : place;
        pin(cell.row, cell.column);
      }
    });
  }
  at("plane").addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const cell = cellAt(event);
    hoverOn(cell);
    showTip(event, cell);
  });
  at("plane").addEventListener("pointerleave", (event) => (hoverOn(null), showTip(event, null)));
  at("plane").addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) pin(cell.row, cell.column);
  });
}

// What a saved graphic shows beside the weights.
function drawing() {
  const { labels, kind, turned } = now;
  const axes = { rows: `${ROW_NOTES[kind]} (query)`, columns: `${COLUMN_NOTES[kind]} (keys)` };
  const rows = labels.rows.map((_, t) => isolatedLabel(labels, t));
  return { rows, columns: labels.columns, name: at("map-name").textContent, axes, turned };
}

function listenToControls() {
  at("heads").addEventListener("click", (event) => {
    const button = event.target.closest(".thumb");
    if (!button) return;
    const head = button.dataset.heads === "mean" ? null : Number(button.dataset.heads);
    const adds = (event.shiftKey || event.ctrlKey || event.metaKey) && head !== null && button.dataset.map === state.map;
    if (!adds) return chooseHeads(button.dataset.map, head === null ? null : [head]);
    const others = (state.heads || []).filter((one) => one !== head);
    const heads = others.length === (state.heads || []).length ? [...others, head].sort((a, b) => a - b) : others;
    chooseHeads(state.map, heads.length ? heads : null);
  });
  at("share").addEventListener("input", () => {
    set({ share: Number(at("share").value) });
    at("share-value").textContent = `${state.share}\u00a0%`;
    showFocus();
  });
  at("theme").addEventListener("click", () => {
    set({ theme: { auto: "light", light: "dark", dark: "auto" }[state.theme] });
    show();
  });
  const rows = (label) => now.labels.rows.map((_, t) => label(now.labels, t));
  at("save-csv").onclick = () => save(fileName("csv"), "text/csv", csvOf(now.matrix, rows(rowLabel), now.labels.columns));
  at("save-svg").onclick = () =>
    save(fileName("svg"), "image/svg+xml", svgOf(now.matrix, drawing(), data.scale.light.map(rgbOf)));
}

function listenToKeys() {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const line = event.target.closest(".tokens");
    if (event.key === "Escape") {
      set({ row: null, column: null });
      hover = null;
      at("tip").hidden = true;
      showFocus();
    } else if (line && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      event.preventDefault();
      const forward = (event.key === "ArrowRight") !== (line.dir === "rtl");
      const next = forward ? event.target.nextElementSibling : event.target.previousElementSibling;
      if (next) moveFocus(event.target, next);
    } else if (event.key in moves) {
      event.preventDefault();
      const [down, right] = moves[event.key];
      moveCell([down, now.turned ? -right : right]);
    } else if ("[]".includes(event.key)) stepHead(event.key === "[" ? -1 : 1);
    else if ("{}".includes(event.key)) stepLayer(event.key === "{" ? -1 : 1);
  });
}

function moveFocus(from, to) {
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
  hoverOn(placeOf(to));
}

listenToPlaces();
listenToControls();
listenToKeys();
dark.addEventListener("change", show);
window.addEventListener("hashchange", () => ((state = parseState(location.hash, data.traces)), show()));
let lastWidth = innerWidth;
window.addEventListener("resize", () => {
  if (innerWidth === lastWidth) return;
  lastWidth = innerWidth;
  boxes = null;
  sizeMap();
  showFocus();
});
show();
