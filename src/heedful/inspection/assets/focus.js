// What is hovered or pinned: coloured tokens, links, bands over the heat map, the table, the tip. Changes no state but the
// order of the table.

function showFocus() {
  const focus = focusOf();
  showChips(focus);
  showLinks(focus);
  showBands(focus);
  showTable(focus);
}

function showChips({ row, column }) {
  const { matrix, look: colours } = now;
  const lines = {
    column: row === null ? null : lineOf(matrix, "row", row),
    row: row === null && column !== null ? lineOf(matrix, "column", column) : null,
  };
  for (const chip of document.querySelectorAll(".token")) {
    const { axis } = chip.dataset;
    const place = Number(chip.dataset.place);
    const entry = lines[axis] && lines[axis][place];
    const ground = entry && entry.allowed ? shade(colours.scale, entry.weight) : null;
    chip.style.background = ground ? `rgb(${ground})` : "";
    chip.style.color = ground ? inkOn(ground) : "";
    chip.classList.toggle("masked", Boolean(entry) && !entry.allowed);
    chip.classList.toggle("active", (axis === "row" ? row : column) === place);
    chip.ariaPressed = String((axis === "row" ? state.row : state.column) === place);
  }
}

function measure() {
  const origin = at("sentence").getBoundingClientRect();
  const of = (id) =>
    Array.from(at(id).children, (chip) => {
      const box = chip.getBoundingClientRect();
      return { left: box.left - origin.left, top: box.top - origin.top, width: box.width, height: box.height };
    });
  boxes = { upper: of("read"), lower: of("query"), width: origin.width, height: origin.height };
}

function showLinks({ row, column }) {
  const { matrix } = now;
  const share = state.share / 100;
  const links = [];
  const add = (t, strong, only) => {
    for (const entry of largest(lineOf(matrix, "row", t), share)) {
      if (only === null || entry.place === only) links.push({ from: entry.place, to: t, weight: entry.weight, strong });
    }
  };
  if (row !== null) add(row, true, null);
  else if (column !== null) for (let t = 0; t < matrix.rows; t++) add(t, true, column);
  else if (matrix.rows <= 64 && matrix.columns <= 64) for (let t = 0; t < matrix.rows; t++) add(t, false, null);
  if (boxes === null) measure();
  const svg = at("links");
  svg.setAttribute("viewBox", `0 0 ${boxes.width} ${boxes.height}`);
  svg.innerHTML = linkPaths(links, boxes.upper, boxes.lower);
}

function showBands({ row, column }) {
  const { cell } = now;
  const band = (id, place, axis) => {
    at(id).hidden = place === null;
    if (place !== null) at(id).style[axis] = `${place * cell}px`;
  };
  band("band-row", row, "top");
  band("band-column", column, "insetInlineStart");
  for (const label of document.querySelectorAll("#rows .label, #columns .label")) {
    label.classList.toggle("active", (label.dataset.axis === "row" ? row : column) === Number(label.dataset.place));
  }
}

// The row in focus, else the column in focus, else one line a row with what it reads most.
function showTable({ row, column }) {
  const table = at("table");
  if (row !== null) table.replaceChildren(...lineTable("row", row));
  else if (column !== null) table.replaceChildren(...lineTable("column", column));
  else table.replaceChildren(...overview());
  table.classList.toggle("overview", row === null && column === null);
  const pinned = hover === null && (state.row !== null || state.column !== null);
  table.classList.toggle("pinned", pinned);
}

function lineTable(axis, index) {
  const { labels, matrix, trace } = now;
  const isRow = axis === "row";
  const name = isRow ? rowNode(labels, index) : piece(labels.columns[index]);
  const p = isRow && labels.before ? ` · probability ${Math.exp(trace.log_p[index]).toFixed(3)}` : "";
  const caption = make("caption", {}, [name, ` ${isRow ? "attends to" : "is attended to by"}${p}`]);
  const order = ranked(lineOf(matrix, axis, index));
  const shown = state.sort === "place" ? [...order].sort((a, b) => a.place - b.place) : order;
  const kept = new Set(largest(order, state.share / 100).map((entry) => entry.place));
  const lines = shown.map((entry) => {
    const label = isRow ? piece(labels.columns[entry.place]) : rowNode(labels, entry.place);
    const line = make("tr", { className: kept.has(entry.place) ? "kept" : "" }, [
      make("td", { textContent: entry.place }),
      make("th", { scope: "row" }, [label]),
      entry.allowed ? weightCell(entry.weight) : make("td", { className: "masked", textContent: "masked" }),
      make("td", { textContent: entry.allowed && isRow ? entry.cumulative.toFixed(3) : "" }),
    ]);
    Object.assign(line.dataset, { axis: isRow ? "column" : "row", place: entry.place });
    return line;
  });
  const sorter = (key, text) => {
    const button = make("button", { type: "button", textContent: state.sort === key ? `${text} ▾` : text });
    button.onclick = () => (set({ sort: key }), showTable(focusOf()));
    return make("th", { scope: "col", ariaSort: state.sort === key ? (key === "place" ? "ascending" : "descending") : "none" }, [button]);
  };
  const head = make("tr", {}, [
    sorter("place", "#"),
    make("th", { scope: "col", textContent: isRow ? "key" : "query" }),
    sorter("weight", "weight"),
    make("th", { scope: "col", textContent: isRow ? "sum" : "", title: isRow ? "of the weights down to this one, the largest first" : "" }),
  ]);
  return [caption, make("thead", {}, [head]), make("tbody", {}, lines)];
}

function weightCell(weight) {
  const cell = make("td", { className: "weight", textContent: weight.toFixed(4), title: shortest(weight) });
  cell.style.setProperty("--w", `${Math.min(100, Math.max(0, 100 * weight))}%`);
  return cell;
}

function overview() {
  const { labels, matrix } = now;
  const lines = labels.rows.map((_, t) => {
    const [best] = ranked(lineOf(matrix, "row", t));
    const nothing = best.weight <= 0;
    const line = make("tr", {}, [
      make("td", { textContent: t }),
      make("th", { scope: "row" }, [rowNode(labels, t)]),
      make("td", { className: "text" }, [piece(nothing ? "nothing" : labels.columns[best.place])]),
      nothing ? make("td") : weightCell(best.weight),
    ]);
    Object.assign(line.dataset, { axis: "row", place: t });
    return line;
  });
  const names = ["#", "query", "top key", "weight"];
  const head = make("tr", {}, names.map((textContent) => make("th", { scope: "col", textContent })));
  return [make("caption", { textContent: "Largest weight of each query" }), make("thead", {}, [head]), make("tbody", {}, lines)];
}

function showTip(event, cell) {
  const { labels, matrix, map } = now;
  const tip = at("tip");
  tip.hidden = cell === null;
  if (cell === null) return;
  const entry = lineOf(matrix, "row", cell.row)[cell.column];
  const exact = map.encoding === "float32" ? shortest(entry.weight) : `${entry.weight.toFixed(3)} ± 0.002`;
  tip.replaceChildren(
    make("b", { textContent: entry.allowed ? exact : "masked" }),
    make("span", {}, [rowNode(labels, cell.row), " attends to ", piece(labels.columns[cell.column])]),
  );
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  const x = event.clientX + 16 + width > innerWidth ? event.clientX - width - 12 : event.clientX + 16;
  const y = event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18;
  tip.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
}
