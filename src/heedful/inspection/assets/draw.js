// Drawing: colours, canvases, links, SVG. Knows neither the state nor the events.

function rgbOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// The colour of a weight in [0, 1] between the two nearest of the scale's steps, as [r, g, b].
function shade(scale, weight) {
  const at = Math.min(1, Math.max(0, weight)) * (scale.length - 1);
  const low = Math.min(scale.length - 2, Math.floor(at));
  return scale[low].map((value, i) => Math.round(value + (scale[low + 1][i] - value) * (at - low)));
}

// Black or white, whichever is easier to read on this ground.
function inkOn([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#111" : "#fff";
}

// The matrix at one pixel a cell; masked cells get the colour `forbidden`.
function paintPixels(canvas, matrix, scale, forbidden) {
  canvas.width = matrix.columns;
  canvas.height = matrix.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(matrix.columns, matrix.rows);
  for (let i = 0; i < matrix.weights.length; i++) {
    image.data.set(matrix.allowed[i] ? [...shade(scale, matrix.weights[i]), 255] : forbidden, 4 * i);
  }
  context.putImageData(image, 0, 0);
}

function hatchPattern(context, colour, ratio) {
  const tile = document.createElement("canvas");
  const side = Math.round(6 * ratio);
  tile.width = tile.height = side;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = ratio * 0.9;
  for (const shift of [-side, 0, side]) {
    pen.moveTo(shift, side);
    pen.lineTo(shift + side, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

// The heat map with `cell` CSS pixels a cell: colours, hatching over masked cells, a grid, and numbers where they fit.
function paintCells(canvas, matrix, cell, look) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [matrix.columns * cell, matrix.rows * cell];
  const pixels = document.createElement("canvas");
  paintPixels(pixels, matrix, look.scale, [0, 0, 0, 0]);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(pixels, 0, 0, canvas.width, canvas.height);
  context.fillStyle = hatchPattern(context, look.hatch, ratio);
  const each = cell * ratio;
  for (let i = 0; i < matrix.weights.length; i++) {
    if (!matrix.allowed[i]) {
      context.fillRect((i % matrix.columns) * each, Math.floor(i / matrix.columns) * each, each, each);
    }
  }
  if (cell >= 12) paintGrid(context, matrix, each, look.grid);
  if (cell >= 30) paintNumbers(context, matrix, each, look.scale);
}

function paintGrid(context, matrix, each, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let t = 0; t <= matrix.rows; t++) {
    context.moveTo(0, Math.round(t * each) + 0.5);
    context.lineTo(matrix.columns * each, Math.round(t * each) + 0.5);
  }
  for (let s = 0; s <= matrix.columns; s++) {
    context.moveTo(Math.round(s * each) + 0.5, 0);
    context.lineTo(Math.round(s * each) + 0.5, matrix.rows * each);
  }
  context.stroke();
}

function paintNumbers(context, matrix, each, scale) {
  context.font = `${Math.round(Math.min(each * 0.3, 16 * (window.devicePixelRatio || 1)))}px ui-sans-serif, system-ui, sans-serif`;
  context.textAlign = "center";
  context.direction = "ltr"; // the point stands before the digits in every script
  context.textBaseline = "middle";
  matrix.weights.forEach((weight, i) => {
    if (!matrix.allowed[i] || weight < 0.095) return;
    context.fillStyle = inkOn(shade(scale, weight));
    const text = weight >= 0.995 ? "1" : weight.toFixed(2).slice(1);
    context.fillText(text, ((i % matrix.columns) + 0.5) * each, (Math.floor(i / matrix.columns) + 0.52) * each);
  });
}

// Curves from the upper line's boxes to the lower line's; `links` are {from, to, weight, strong}, boxes are relative.
function linkPaths(links, upper, lower) {
  return links
    .map(({ from, to, weight, strong }) => {
      const [a, b] = [upper[from], lower[to]];
      const [x1, y1] = [a.left + a.width / 2, a.top + a.height];
      const [x2, y2] = [b.left + b.width / 2, b.top];
      const bend = Math.max(14, (y2 - y1) / 2);
      const opacity = (strong ? 0.25 + 0.75 * weight : 0.08 + 0.42 * weight).toFixed(3);
      const width = (1 + (strong ? 5 : 3) * weight).toFixed(2);
      const path = `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
      return `<path d="${path}" stroke-width="${width}" stroke-opacity="${opacity}"/>`;
    })
    .join("");
}

function escapeXml(text) {
  return text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
}

// The matrix as a standalone vector graphic, in light colours, for a paper; `turned` begins its columns at the right.
function svgOf(matrix, { rows, columns, name, axes, turned }, scale) {
  const cell = 18;
  const wide = (label) => 7 * [...label].length;
  const slanted = columns.some((label) => wide(label) > cell);
  const beside = 8 + Math.max(...rows.map(wide));
  const above = 24 + (slanted ? 14 + 0.77 * Math.max(...columns.map(wide)) : 18);
  const overhang = slanted ? 0.65 * Math.max(...columns.map(wide)) : 0;
  const [left, top] = [turned ? overhang + 4 : beside + 18, above];
  const [width, height] = [matrix.columns * cell, matrix.rows * cell];
  const total = Math.max(left + width + (turned ? beside + 18 : overhang + 4), left + wide(axes.columns), 260);
  const at = (s) => left + (turned ? matrix.columns - 1 - s : s) * cell;
  const cells = Array.from(matrix.weights, (weight, i) => {
    const [x, y] = [at(i % matrix.columns), top + Math.floor(i / matrix.columns) * cell];
    if (!matrix.allowed[i]) return `<path d="M${x} ${y + cell}l${cell}-${cell}" stroke="#999"/>`;
    if (weight < 0.004) return "";
    return `<rect x="${x}" y="${y}" width="${cell}" height="${cell}" fill="rgb(${shade(scale, weight)})"/>`;
  });
  const text = (x, y, label, extra) => `<text x="${x}" y="${y}" ${extra}>${escapeXml(label)}</text>`;
  const beyond = turned ? left + width + 5 : left - 5;
  const rowTexts = rows.map((label, t) => text(beyond, top + t * cell + 13, label, `class="label" text-anchor="${turned ? "start" : "end"}"`));
  const columnTexts = columns.map((label, s) => {
    const [x, y] = [at(s) + cell / 2, top - 6];
    if (!slanted) return text(x, y, label, 'class="label" text-anchor="middle"');
    const [angle, anchor] = turned ? [50, "end"] : [-50, "start"];
    return text(x, y, label, `class="label" text-anchor="${anchor}" transform="rotate(${angle} ${x} ${y})"`);
  });
  const foot = top + Math.max(height, wide(axes.rows)) + 20;
  const aside = turned ? left + width + beside + 6 : 12;
  const bar = scale.map((_, i) => `<rect class="scale" x="${134 + 6 * i}" y="${foot - 9}" width="6" height="10" fill="rgb(${shade(scale, i / (scale.length - 1))})"/>`);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${total}" height="${foot + 10}" viewBox="0 0 ${total} ${foot + 10}" ` +
    `font-family="DejaVu Sans Mono, monospace" font-size="11"><title>${escapeXml(name)}</title>` +
    cells.join("") +
    `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="none" stroke="#999" stroke-width=".5"/>` +
    rowTexts.join("") +
    columnTexts.join("") +
    text(turned ? left + width : left, 12, axes.columns, `fill="#666" text-anchor="${turned ? "end" : "start"}"`) +
    text(aside, top, axes.rows, `fill="#666" text-anchor="${turned ? "start" : "end"}" transform="rotate(${turned ? 90 : -90} ${aside} ${top})"`) +
    text(6, foot, "attention weight 0", 'fill="#666"') +
    bar.join("") +
    text(140 + 6 * scale.length, foot, "1", 'fill="#666"') +
    "</svg>\n"
  );
}
