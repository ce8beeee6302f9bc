// How the examples speak: aligned lines, colour only where a person watches, and checks that end the run when they fail.

const out = process.stdout;
const colours = Boolean(out.isTTY) && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
const paint = (code, text) => (colours ? `\x1b[${code}m${text}\x1b[0m` : text);
const bold = (text) => paint('1', text);
const dim = (text) => paint('2', text);

class CheckFailed extends Error {
  name = 'CheckFailed';
}

/** Ends the run, with one line that says what did not hold and what was found instead. */
export function check(holds, what, found) {
  if (!holds) throw new CheckFailed(`expected that ${what}; found ${shorten(found, 400)}`);
}

export function heading(title, about) {
  out.write(`\n${bold(title)}  ${dim(about)}\n`);
}

export function line(text) {
  out.write(`  ${text}\n`);
}

/** Columns as wide as their widest cell. Those named in `right` stand to the right. */
export function table(headers, rows, right = []) {
  const widths = headers.map((header, index) => Math.max(header.length, ...rows.map((row) => row[index].length)));
  const lay = (cells) =>
    cells
      .map((cell, index) =>
        right.includes(headers[index]) ? cell.padStart(widths[index]) : cell.padEnd(widths[index]),
      )
      .join('  ')
      .trimEnd();
  line(dim(lay(headers)));
  for (const row of rows) line(lay(row));
}

/** One call on one line, in columns of fixed width: it is printed before the next one is known. */
export function callLine(tool, args, result, took) {
  const cells = [tool.padEnd(27), dim(shorten(args, 26).padEnd(26)), shorten(result, 36).padEnd(36), took.padStart(7)];
  line(cells.join(' '));
}

export function milliseconds(value) {
  return value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value)} ms`;
}

/** A value on one line, cut to a width. */
function shorten(value, width) {
  const text = value instanceof Error ? `${value.name}: ${value.message}` : (JSON.stringify(value) ?? String(value));
  return text.length <= width ? text : `${text.slice(0, width - 3)}...`;
}
