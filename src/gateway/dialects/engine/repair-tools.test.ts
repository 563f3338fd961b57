import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject } from '../../../core/json.ts';
import type { AnswerEvent } from '../../../core/event.ts';
import { createToolRepair } from './repair-tools.ts';

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}
type Fragment = Readonly<Record<string, unknown>>;

const names = ['get_weather', 'get_time', 'get', 'search_the_web', 'f'];

/** Runs fragments through the repair, each push a delta of its own, and puts the calls together as a client does. */
function repair(deltas: readonly (readonly Fragment[])[], toolNames: readonly string[] = names) {
  const machine = createToolRepair({ choice: 0, toolNames: new Set(toolNames), newId: (tool) => `call_${tool}` });
  const events: AnswerEvent[] = deltas.flatMap((delta) => [...machine.push(delta, 'delta')]);
  const last = machine.end();
  events.push(...(last ?? []));
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const event of events) {
    if (event.type === 'tool-start') {
      // Dense indices, in order of appearance, one start each.
      expect(event.tool).toBe(calls.length);
      calls.push({ id: event.id, name: event.name, arguments: '' });
    } else if (event.type === 'tool-delta') {
      const call = calls[event.tool];
      if (call === undefined) throw new Error(`arguments of call ${event.tool} came before its start`);
      expect(event.text).not.toBe('');
      call.arguments += event.text;
    }
  }
  return { calls, named: last !== undefined, whole: machine.areComplete() };
}

const json = fc
  .dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4, noNullPrototype: true })
  .map((value) => JSON.stringify(value));

/** Calls with different ids. */
const callsOf = (least: number) =>
  fc
    .array(fc.tuple(fc.constantFrom(...names), json), { minLength: least, maxLength: 4 })
    .map((pairs) => pairs.map(([name, text], index): Call => ({ id: `id-${index}`, name, arguments: text })));
const cuts = fc.array(fc.nat(), { maxLength: 4 });

function pieces(text: string, places: readonly number[]): readonly string[] {
  const edges = [0, ...places.map((place) => place % (text.length + 1)).sort((a, b) => a - b), text.length];
  return edges.slice(1).map((end, index) => text.slice(edges[index], end));
}

/** The first fragment of a call and the others, as in the public format. */
function fragments(call: Call, index: number, places: readonly number[]): Fragment[] {
  return [
    { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } },
    ...pieces(call.arguments, places).map((text) => ({ index, function: { arguments: text } })),
  ];
}

const within = (fragment: Fragment, change: object): Fragment => ({
  ...fragment,
  function: { ...(fragment['function'] as object), ...change },
});
const isHead = (fragment: Fragment): boolean => fragment['id'] !== undefined;
const isBareHead = (fragment: Fragment): boolean =>
  isHead(fragment) && (fragment['function'] as { arguments?: unknown }).arguments === '';
const without = (fragment: Fragment, ...fields: readonly string[]): Fragment =>
  Object.fromEntries(Object.entries(fragment).filter(([name]) => !fields.includes(name)));

type Bend = (call: readonly Fragment[], original: Call, index: number) => readonly Fragment[];

/** How engines number their calls (docs/reference/engines.md §6). With ids, none of these matters. */
const numberings: Readonly<Record<string, Bend>> = {
  right: (call) => call,
  missing: (call) => call.map((each) => without(each, 'index')),
  null: (call) => call.map((each) => ({ ...each, index: null })),
  'all zero': (call) => call.map((each) => ({ ...each, index: 0 })),
  'from one': (call, _, index) => call.map((each) => ({ ...each, index: index + 1 })),
  jumping: (call, _, index) => call.map((each) => ({ ...each, index: index * 7 + 3 })),
};
/** How engines change the first fragment of a call. */
const heads: Readonly<Record<string, Bend>> = {
  plain: (call) => call,
  repeated: (call, { id, name }) => call.map((each) => within({ ...each, id, type: 'function' }, { name })),
  'empty id after it': (call) => call.map((each) => (isHead(each) ? each : { ...each, id: '', type: 'function' })),
  'null after it': (call) =>
    call.map((each) => (isHead(each) ? each : within({ ...each, id: null, type: null }, { name: null }))),
  'without a type': (call) => call.map((each) => without(each, 'type')),
  'null arguments': (call) => call.map((each) => (isBareHead(each) ? within(each, { arguments: null }) : each)),
  'no arguments': (call, { name }) => call.map((each) => (isBareHead(each) ? { ...each, function: { name } } : each)),
};
/** How engines change all fragments of a call. */
const shapes: Readonly<Record<string, Bend>> = {
  pieces: (call) => call,
  'in one': ([head = {}], original) => [within(head, { arguments: original.arguments })],
  'as an object': ([head = {}], original) => [within(head, { arguments: JSON.parse(original.arguments) as unknown })],
  'with a trailing empty piece': (call) => [...call, { index: call[0]?.['index'] ?? 0, function: { arguments: '' } }],
};
const pick = (bends: Readonly<Record<string, Bend>>) =>
  fc.constantFrom(...Object.keys(bends)).map((name) => bends[name] ?? ((call: readonly Fragment[]) => call));

/** Fragments of several calls, one after the other, gathered into deltas of any size. */
function gathered(all: readonly Fragment[], sizes: readonly number[]): readonly (readonly Fragment[])[] {
  const deltas: Fragment[][] = [];
  for (let at = 0, turn = 0; at < all.length; turn += 1) {
    const size = 1 + ((sizes[turn % sizes.length] ?? 0) % 3);
    deltas.push(all.slice(at, at + size));
    at += size;
  }
  return deltas;
}

/** Arguments compared as the values they are: an engine that sends objects leaves the spacing to us. */
const meant = (calls: readonly Call[]) =>
  calls.map(({ name, arguments: text }, index) => ({
    id: `call_${index}`,
    name,
    arguments: JSON.parse(text) as unknown,
  }));
const parsed = (calls: readonly Call[]) =>
  calls.map((call) => ({ ...call, arguments: JSON.parse(call.arguments) as unknown }));

describe('the repair of tool calls', () => {
  it('restores the calls, whatever an engine does to indices, first fragments and shapes', () => {
    fc.assert(
      fc.property(
        callsOf(1),
        cuts,
        pick(numberings),
        pick(heads),
        pick(shapes),
        fc.array(fc.nat(), { minLength: 1 }),
        (calls, places, number, head, shape, sizes) => {
          const all = calls.flatMap((call, index) => [
            ...number(head(shape(fragments(call, index, places), call, index), call, index), call, index),
          ]);
          const result = repair(gathered(all, sizes));
          expect(parsed(result.calls)).toEqual(meant(calls));
          expect(result).toMatchObject({ named: true, whole: true });
        },
      ),
      { numRuns: 600 },
    );
  });

  it('restores arguments that come as text letter by letter', () => {
    fc.assert(
      fc.property(callsOf(1), cuts, pick(numberings), pick(heads), (calls, places, number, head) => {
        const all = calls.flatMap((call, index) => [
          ...number(head(fragments(call, index, places), call, index), call, index),
        ]);
        expect(repair([all]).calls.map((call) => call.arguments)).toEqual(calls.map((call) => call.arguments));
      }),
    );
  });

  it('restores interleaved calls by their index or their id', () => {
    const interleave = (lists: readonly (readonly Fragment[])[]): readonly Fragment[] =>
      Array.from({ length: Math.max(...lists.map((list) => list.length)) }, (_, turn) =>
        lists.flatMap((list) => list.slice(turn, turn + 1)),
      ).flat();
    const tellers = [
      (call: readonly Fragment[]) => call,
      (call: readonly Fragment[], { id }: Call) => call.map((each) => without({ ...each, id }, 'index')),
      (call: readonly Fragment[], { id }: Call) => call.map((each) => ({ ...each, id, index: 0 })),
    ];
    fc.assert(
      fc.property(callsOf(2), cuts, fc.constantFrom(...tellers), (calls, places, tell) => {
        const lists = calls.map((call, index) => tell(fragments(call, index, places), call));
        expect(repair(interleave(lists).map((each) => [each])).calls.map((call) => call.arguments)).toEqual(
          calls.map((call) => call.arguments),
        );
      }),
    );
  });

  it('restores calls without ids by their index', () => {
    fc.assert(
      fc.property(callsOf(1), cuts, fc.constantFrom('right', 'from one', 'jumping'), (calls, places, numbering) => {
        const all = calls.flatMap((call, index) =>
          (numberings[numbering]?.(fragments(call, index, places), call, index) ?? []).map((each) =>
            without(each, 'id'),
          ),
        );
        expect(repair(all.map((each) => [each])).calls).toEqual(
          calls.map((call, index) => ({ ...call, id: `call_${index}` })),
        );
      }),
    );
  });

  it('restores calls with neither by a name that comes when the arguments are complete', () => {
    fc.assert(
      fc.property(callsOf(1), cuts, (calls, places) => {
        const all = calls.flatMap((call, index) =>
          fragments(call, index, places).map((each) => without(each, 'id', 'index')),
        );
        expect(repair(all.map((each) => [each])).calls).toEqual(
          calls.map((call, index) => ({ ...call, id: `call_${index}` })),
        );
      }),
    );
  });

  it('assembles a name that comes in pieces', () => {
    fc.assert(
      fc.property(callsOf(1), cuts, fc.nat(), (calls, places, cut) => {
        const all = calls.flatMap((call, index) => {
          const [first = '', second = ''] = pieces(call.name, [cut]);
          const [, ...rest] = fragments(call, index, places);
          const start = [
            { index, id: call.id, function: { name: first, arguments: '' } },
            { index, function: { name: second } },
          ];
          // A piece that equals the one before it looks like a repetition.
          return first === second ? fragments(call, index, places) : [...start, ...rest];
        });
        expect(repair(all.map((each) => [each])).calls).toEqual(
          calls.map((call, index) => ({ ...call, id: `call_${index}` })),
        );
      }),
    );
  });

  it('waits for a name that comes after the first arguments', () => {
    const deltas = [
      [{ index: 0, id: 'a', function: { arguments: '{"a"' } }],
      [{ index: 0, function: { arguments: ':1' } }],
      [{ index: 0, function: { name: 'get_time', arguments: '}' } }],
    ];
    expect(repair(deltas).calls).toEqual([{ id: 'call_0', name: 'get_time', arguments: '{"a":1}' }]);
  });

  it('never takes complete arguments for the end of a call', () => {
    // `{}` is whole JSON, and yet more of it may come: white space, or an engine that begins with an empty object's text.
    const deltas = [
      [{ index: 0, id: 'a', function: { name: 'get_time', arguments: '{}' } }],
      [{ index: 0, function: { arguments: ' \n' } }],
    ];
    expect(repair(deltas).calls).toEqual([{ id: 'call_0', name: 'get_time', arguments: '{} \n' }]);
  });

  it('keeps text that is not JSON as it is and leaves its validation to others', () => {
    expect(repair([[{ index: 0, id: 'a', function: { name: 'f', arguments: '{"a": tru' } }]])).toMatchObject({
      calls: [{ arguments: '{"a": tru' }],
      whole: false,
    });
  });

  it('writes {} for missing arguments', () => {
    expect(repair([[{ index: 0, id: 'a', function: { name: 'f' } }]]).calls).toEqual([
      { id: 'call_0', name: 'f', arguments: '{}' },
    ]);
  });

  it('reports a call that never got a name', () => {
    expect(repair([[{ index: 0, id: 'a', function: { arguments: '{}' } }]]).named).toBe(false);
  });

  it('accepts any fragment without throwing', () => {
    const fragment = fc.oneof(
      fc.anything(),
      fc.record({
        index: fc.anything(),
        id: fc.anything(),
        function: fc.oneof(fc.anything(), fc.record({ name: fc.anything(), arguments: fc.jsonValue() })),
      }),
    );
    fc.assert(
      fc.property(fc.array(fragment), (all) => {
        const machine = createToolRepair({ choice: 0, toolNames: new Set(names), newId: (tool) => `call_${tool}` });
        machine.push(all.filter(isObject), 'delta');
        machine.end();
      }),
      { numRuns: 300 },
    );
  });
});

describe('the calls of a whole message', () => {
  it('stay separate, whatever ids and indices they have', () => {
    const mark = fc.constantFrom(undefined, null, '', 'id-0', 'id-1', 0, 1);
    const call = fc.record({ name: fc.constantFrom(...names), id: mark, index: mark, text: json });
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 4 }), (calls) => {
        const machine = createToolRepair({ choice: 0, toolNames: new Set(names), newId: (tool) => `call_${tool}` });
        const said = calls.map(({ name, id, index, text }) => ({ id, index, function: { name, arguments: text } }));
        const events = [...machine.push(said, 'message'), ...(machine.end() ?? [])];
        const starts = events.flatMap((event) => (event.type === 'tool-start' ? [event] : []));
        expect(starts.map(({ tool, id, name }) => ({ tool, id, name }))).toEqual(
          calls.map(({ name }, tool) => ({ tool, id: `call_${tool}`, name })),
        );
        const textOf = (tool: number): string =>
          events.map((event) => (event.type === 'tool-delta' && event.tool === tool ? event.text : '')).join('');
        expect(calls.map((_, tool) => textOf(tool))).toEqual(calls.map(({ text }) => text));
      }),
    );
  });
});
