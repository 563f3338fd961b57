import { globSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The rooms whose code a world runs: money, streams, limits, catalog and replicas. */
const rooms = [
  ...(['gateway/admission', 'gateway/dispatch', 'gateway/metering', 'gateway/rate-limits', 'gateway/request'] as const),
  ...(['gateway/routing', 'gateway/dialects', 'gateway/web-search', 'books/accounts', 'books/databases'] as const),
  ...(['books/ledger', 'books/store', 'control/catalog'] as const),
];
const root = join(import.meta.dirname, '../../src');

/** What V8 knows of a script: each function's ranges, the first one whole, inner ones inside the ones before them. */
export interface CountedRange {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** Blank lines, comments and brackets are no code. */
const isCode = (line: string): boolean => /\w/.test(line) && !/^\s*(\/\/|\/?\*)/.test(line);

/** The lines of a text that have code which never ran, from 1 on. */
export function unreachedLines(text: string, ranges: readonly CountedRange[]): readonly number[] {
  const counts = new Uint8Array(text.length).fill(1);
  for (const { startOffset, endOffset, count } of ranges) counts.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  const lines: number[] = [];
  let at = 0;
  for (const [index, line] of text.split('\n').entries()) {
    const begin = at + line.search(/\S/);
    if (isCode(line) && counts.subarray(begin, at + line.length).includes(0)) lines.push(index + 1);
    at += line.length + 1;
  }
  return lines;
}

/** Ranges of lines: `3-5, 9`. */
export function writeLines(lines: readonly number[]): string {
  const parts: [number, number][] = [];
  for (const line of lines) {
    const last = parts.at(-1);
    if (last !== undefined && line === last[1] + 1) last[1] = line;
    else parts.push([line, line]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}

/** Counts which code runs from now on. Returns a function that writes what was reached, room by room, and the lines that were not. */
export async function countCoverage(): Promise<() => Promise<readonly string[]>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    session.disconnect();
    const byPath = new Map(
      result
        .filter(({ url }) => url.startsWith('file:'))
        .map(({ url, functions }) => [fileURLToPath(url), functions.map(({ ranges }) => ranges)] as const),
    );
    return rooms.flatMap((room) => linesOfRoom(room, byPath));
  };
}

function linesOfRoom(
  room: string,
  byPath: ReadonlyMap<string, readonly (readonly CountedRange[])[]>,
): readonly string[] {
  const names = globSync('**/*.ts', { cwd: join(root, room) }).filter((name) => !name.endsWith('.test.ts'));
  let [total, missing] = [0, 0];
  const files: string[] = [];
  for (const name of names.toSorted()) {
    const functions = byPath.get(join(root, room, name));
    if (functions === undefined) {
      files.push(`    ${name}: not loaded`);
      continue;
    }
    const ranges = functions.flat();
    const text = readFileSync(join(root, room, name), 'utf8');
    const lines = unreachedLines(text, ranges);
    total += text.split('\n').filter(isCode).length;
    missing += lines.length;
    if (lines.length > 0) files.push(`    ${name}: ${writeLines(lines)}`);
  }
  return [`  ${room}: ${total - missing} of ${total} lines reached; never or in part:`, ...files];
}
