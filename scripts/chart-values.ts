import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, LineCounter, parseDocument, type YAMLMap } from 'yaml';

/** One value of the chart: what its line, and the comment above it, say. */
export interface ChartValue {
  /** `edge.tls.secretName` */
  readonly path: readonly string[];
  readonly description: string;
  readonly initial: unknown;
  /** What the line `@schema {…}` adds to what the default says. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The values inside; undefined where it is no group: a scalar, a list, or a map of whatever the operator likes. */
  readonly inner: readonly ChartValue[] | undefined;
}

export const chartFolder = join(import.meta.dirname, '..', 'charts', 'weir');

/** Reads charts/weir/values.yaml with its comments. Throws on a value that is not described. */
export function readChartValues(text = readFileSync(join(chartFolder, 'values.yaml'), 'utf8')): readonly ChartValue[] {
  const lines = text.split('\n');
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter });
  const commentAbove = (offset: number): readonly string[] => {
    const comment: string[] = [];
    for (let line = counter.linePos(offset).line - 2; /^ *#/.test(lines[line] ?? ''); line -= 1)
      comment.unshift((lines[line] ?? '').replace(/^ *# ?/, ''));
    return comment;
  };

  function read(map: YAMLMap, above: readonly string[]): readonly ChartValue[] {
    return map.items.map(({ key, value }) => {
      if (!isScalar(key)) throw new Error('values.yaml: a key is not a text');
      const path = [...above, String(key.value)];
      const comment = commentAbove(key.range?.[0] ?? 0);
      const description = comment.filter((line) => !line.startsWith('@schema')).join(' ');
      if (description === '') throw new Error(`values.yaml: ${path.join('.')} has no comment that describes it`);
      const given = comment.find((line) => line.startsWith('@schema'))?.replace('@schema', '') ?? '{}';
      const { open, ...schema } = JSON.parse(given) as Record<string, unknown>;
      const isGroup = isMap(value) && value.items.length > 0 && open !== true;
      const initial: unknown = isMap(value) || isScalar(value) ? value.toJSON() : document.getIn(path);
      const plain = JSON.parse(JSON.stringify(initial ?? null)) as unknown;
      return { path, description, initial: plain, schema, inner: isGroup ? read(value, path) : undefined };
    });
  }

  if (!isMap(document.contents)) throw new Error('values.yaml: expected a map');
  return read(document.contents, []);
}
