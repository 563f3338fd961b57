import { describe, expect, test } from 'vitest';

import { directives } from './directives.ts';
import { type FragmentChunk, fragmentsOf } from './tool-fragments.ts';
import { bendFragments } from './tool-quirks.ts';
import type { ToolCall } from './tool-calls.ts';

const calls: readonly ToolCall[] = [
  { id: 'A', name: 'look', arguments: '{"a":1}' },
  { id: 'B', name: 'find', arguments: '{}' },
];

/** One line per chunk, one item per fragment: index, id, type, name, arguments; a dash for what is absent. */
function shown(chunks: readonly FragmentChunk[]): readonly string[] {
  return chunks.map((chunk) =>
    chunk.fragments
      .map((one) => {
        const name = one.function !== undefined && 'name' in one.function ? JSON.stringify(one.function.name) : '-';
        const given =
          one.function !== undefined && 'arguments' in one.function ? JSON.stringify(one.function.arguments) : '-';
        return [
          one.index ?? '-',
          one.id === undefined ? '-' : `'${one.id}'`,
          one.type === undefined ? '-' : 'function',
          name,
          given,
        ].join(' ');
      })
      .join(' + '),
  );
}

const ideal = [
  `0 'A' function "look" ""`,
  String.raw`0 - - - "{\"a\""`,
  String.raw`0 - - - ":1}"`,
  `1 'B' function "find" ""`,
  `1 - - - "{}"`,
];
const withoutChange = [
  'empty-content-first',
  'finish-stop',
  'finish-null',
  'finish-with-last',
  'rest-in-finish',
] as const;

const bent: { readonly [quirk: string]: readonly string[] } = {
  'index-missing': ideal.map((line) => line.replace(/^\d/u, '-')),
  'index-all-zero': ideal.map((line) => line.replace(/^\d/u, '0')),
  'index-from-one': ideal.map((line) => line.replace(/^\d/u, (digit) => String(Number(digit) + 1))),
  'index-jumps': ideal.map((line) => line.replace(/^\d/u, (digit) => String(Number(digit) * 3 + 2))),
  'index-restarts': [String.raw`0 'A' function "look" "{\"a\":1}"`, `0 'B' function "find" "{}"`],
  'whole-call': [String.raw`0 'A' function "look" "{\"a\":1}"`, `1 'B' function "find" "{}"`],
  'calls-in-one-chunk': [String.raw`0 'A' function "look" "{\"a\":1}" + 1 'B' function "find" "{}"`],
  'arguments-object': [`0 'A' function "look" {"a":1}`, `1 'B' function "find" {}`],
  'arguments-null-first': ideal.map((line) => line.replace(/ ""$/u, ' null')),
  'arguments-empty-then-whole': [
    `0 'A' function "look" ""`,
    String.raw`0 - - - "{\"a\":1}"`,
    `1 'B' function "find" ""`,
    `1 - - - "{}"`,
  ],
  'id-missing': ideal.map((line) => line.replace(/'.'/u, '-')),
  'id-late': [
    `0 - function "look" ""`,
    String.raw`0 'A' - - "{\"a\""`,
    ideal[2] ?? '',
    `1 - function "find" ""`,
    `1 'B' - - "{}"`,
  ],
  'id-empty-on-continuation': ideal.map((line) => line.replace(/ - - - /u, ` '' function - `)),
  'head-repeated': ideal.map((line) =>
    line.replace(/^0 - - - /u, `0 'A' function "look" `).replace(/^1 - - - /u, `1 'B' function "find" `),
  ),
  'name-split': [
    `0 'A' function "lo" ""`,
    `0 - - "ok" -`,
    ...ideal.slice(1, 3),
    `1 'B' function "fi" ""`,
    `1 - - "nd" -`,
    ...ideal.slice(4),
  ],
  'name-late': [
    `0 'A' function - ""`,
    String.raw`0 - - "look" "{\"a\""`,
    ideal[2] ?? '',
    `1 'B' function - ""`,
    `1 - - "find" "{}"`,
  ],
  'name-null-on-continuation': ideal.map((line) => line.replace(/ - - - /u, ` - - null `)),
  'type-missing': ideal.map((line) => line.replace('function', '-')),
  'ids-duplicate': ideal.map((line) => line.replace(`'B'`, `'A'`)),
  interleaved: [ideal[0] ?? '', ideal[3] ?? '', ideal[1] ?? '', ideal[4] ?? '', ideal[2] ?? ''],
  'trailing-empty': [...ideal.slice(0, 3), `0 - - - ""`, ...ideal.slice(3), `1 - - - ""`],
  ...Object.fromEntries(withoutChange.map((quirk) => [quirk, ideal])),
};

describe('the fragments of two calls', () => {
  const chunks = fragmentsOf(calls, 4);

  test('are a head and pieces when nothing is bent', () => {
    expect(shown(chunks)).toEqual(ideal);
  });

  for (const [name, expected] of Object.entries(bent)) {
    test(`are bent by ${name}`, () => {
      const [quirk] = directives.toolQuirk.read(name);
      expect(quirk === undefined ? [] : shown(bendFragments(chunks, calls, quirk))).toEqual(expected);
    });
  }

  test('every quirk is shown here', () => {
    const known = [...directives.toolQuirk.accepts.matchAll(/`([^`]+)`/gu)].map((match) => match[1]);
    expect(new Set(Object.keys(bent))).toEqual(new Set(known));
  });
});
