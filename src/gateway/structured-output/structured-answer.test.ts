import { describe, expect, it } from 'vitest';
import type { AnswerEvent, FinishReason } from '../../core/event.ts';
import type { Tool } from '../../core/request.ts';
import type { StructureAsk, StructureChecker, StructureResult } from '../core/structure.ts';
import { createStructureRetries } from '../dispatch/retries.ts';
import {
  createStructureValidator,
  type StructuredAsk,
  type StructureFindings,
  watchStructure,
} from './structured-answer.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { routeOf } from '../../../test/support/route-of.ts';

type Asked = Partial<StructuredAsk>;

/** A checker for schemas of one keyword, `const`; `{}` cannot be checked. */
function createChecker() {
  const asks: StructureAsk[] = [];
  function check({ text, schema, top = 'object' }: StructureAsk): StructureResult {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { kind: 'invalid', detail: 'not JSON' };
    }
    if (top === 'object' && (typeof value !== 'object' || value === null || Array.isArray(value))) {
      return { kind: 'invalid', detail: 'not an object' };
    }
    if (schema === undefined) return { kind: 'valid' };
    if (!('const' in schema)) return { kind: 'unknown', reason: 'schema' };
    return JSON.stringify(value) === JSON.stringify(schema['const'])
      ? { kind: 'valid' }
      : { kind: 'invalid', detail: 'const at #/const', missesSchema: true };
  }
  return { asks, check: (ask: StructureAsk) => (asks.push(ask), Promise.resolve(check(ask))) };
}

const text = (words: string, choice = 0): AnswerEvent => ({ type: 'text-delta', choice, text: words, deltas: 1 });
const finish = (reason: FinishReason, choice = 0): AnswerEvent => ({ type: 'finish', choice, reason });
const reasoning: AnswerEvent = { type: 'reasoning-delta', choice: 0, text: 'Hm', deltas: 1 };
const counted = (completionTokens: number, reasoningTokens = 0): AnswerEvent => ({
  type: 'usage',
  usage: { promptTokens: 9, completionTokens, reasoningTokens },
});
const call = (name: string, json: string, { tool = 0, choice = 0 } = {}): readonly AnswerEvent[] => [
  { type: 'tool-start', choice, tool, id: `call-${tool}`, name },
  ...Array.from(json, (piece): AnswerEvent => ({ type: 'tool-delta', choice, tool, text: piece })),
];

const tools: readonly Tool[] = [
  { name: 'go', parameters: { const: { to: 1 } } },
  { name: 'stop' },
  { name: 'odd', parameters: {} },
];
const object: Asked = { responseFormat: { type: 'json_object' } };
const schema: Asked = { responseFormat: { type: 'json_schema', name: 'list', schema: { const: [1] } } };
const strict: Asked = { responseFormat: { type: 'json_schema', name: 'list', schema: { const: [1] }, strict: true } };
const bare: Asked = { responseFormat: { type: 'json_schema', name: 'any' } };

async function validate(asked: Asked, events: readonly AnswerEvent[]): Promise<StructureFindings | undefined> {
  const watch = watchStructure({ tools: [], sampling: {}, ...asked }, createChecker());
  watch?.take(events);
  return watch?.validate();
}

/** `json_schema!` is a defect, `json_schema` is valid. */
const inShort = ({ checked, defects }: StructureFindings): string =>
  checked
    .map(
      (one) =>
        one +
        defects
          .filter(({ capability }) => capability === one)
          .map(() => '!')
          .join(''),
    )
    .join(' ');

describe('an answer', () => {
  it.each<[what: string, asked: Asked]>([
    ['nothing', {}],
    ['text', { responseFormat: { type: 'text' } }],
  ])('of which %s is asked is not watched', (_, asked) => {
    expect(watchStructure({ tools: [], sampling: {}, ...asked }, createChecker())).toBeUndefined();
  });

  const rows: readonly (readonly [what: string, asked: Asked, events: readonly AnswerEvent[], expected: string])[] = [
    ['an object where an object is wanted', object, [text('{"a"'), text(':1}'), finish('stop')], 'json_object'],
    ['a list where an object is wanted', object, [text('[1]'), finish('stop')], 'json_object!'],
    ['text where an object is wanted', object, [text('Sure!'), finish('stop')], 'json_object!'],
    ['nothing where an object is wanted', object, [finish('stop')], 'json_object!'],
    ['half an object that the engine calls whole', object, [text('{"a"'), finish('stop')], 'json_object!'],
    ['half an object, cut by the cap', object, [text('{"a"'), finish('length')], ''],
    ['half an object, filtered', object, [text('{"a"'), finish('content_filter')], ''],
    ['half an object, not finished', object, [text('{"a"')], ''],
    ['a refusal', object, [{ type: 'refusal-delta', choice: 0, text: 'No.', deltas: 1 }, finish('stop')], ''],
    ['reasoning before the object', object, [reasoning, text('{}'), finish('stop')], 'json_object'],
    ['what the schema allows, a list', schema, [text('[1]'), finish('stop')], 'json_schema'],
    [
      'what a stop sequence of the caller’s cut',
      { ...object, sampling: { stop: '1' } },
      [text('{"a":'), finish('stop')],
      '',
    ],
    [
      'what no stop sequence can have cut',
      { ...object, sampling: { stop: ['1'] } },
      [text('{a'), finish('stop')],
      'json_object!',
    ],
    ['what the schema forbids', schema, [text('[2]'), finish('stop')], 'json_schema!'],
    ['an object where the schema was left out', bare, [text('{}'), finish('stop')], 'json_schema'],
    ['a list where the schema was left out', bare, [text('[]'), finish('stop')], 'json_schema!'],
    [
      'one of two choices defective',
      object,
      [text('{}', 0), text('{', 1), finish('stop', 0), finish('stop', 1)],
      'json_object!',
    ],
    [
      'one of two choices cut, the other sound',
      object,
      [text('{}', 0), text('{', 1), finish('stop', 0), finish('length', 1)],
      'json_object',
    ],
    ['text, where tools are only offered', { tools }, [text('Hello'), finish('stop')], ''],
    ['a call left in the text', { tools }, [text('\n<tool'), text('_call>{"na'), finish('stop')], 'tools!'],
    ['a call left in the text, cut by the cap', { tools }, [text('<tool_call>{"na'), finish('length')], ''],
    ['no text in many tokens, where tools are offered', { tools }, [finish('stop'), counted(107)], 'tools!'],
    ['no text in a few tokens', { tools }, [finish('stop'), counted(1)], ''],
    [
      'no text in many tokens, where no tool is allowed',
      { tools, toolChoice: 'none' },
      [finish('stop'), counted(107)],
      '',
    ],
    ['no text after reasoning', { tools }, [reasoning, finish('stop'), counted(107)], ''],
    ['no text in many tokens of reasoning', { tools }, [finish('stop'), counted(107, 106)], ''],
    ['no text, cut by the cap', { tools }, [finish('length'), counted(107)], ''],
    ['text in many tokens', { tools }, [text('Hello'), finish('stop'), counted(107)], ''],
    ['words about how a call begins', { tools }, [text('It begins with <tool_call>.'), finish('stop')], ''],
    [
      'a call in the text, where none is allowed',
      { tools, toolChoice: 'none' },
      [text('<tool_call>'), finish('stop')],
      '',
    ],
    ['a call in the text, where no tool is offered', object, [text('<tool_call>'), finish('stop')], 'json_object!'],
    [
      'a call in the text, where one is required',
      { tools, toolChoice: 'required' },
      [text('<tool_call>'), finish('stop')],
      'tools!',
    ],
    ['a call', { tools }, [...call('go', '{"to":1}'), finish('tool_calls')], 'tools'],
    ['a call, by an engine that says stop', { tools }, [...call('go', '{"to":1}'), finish('stop')], 'tools'],
    ['a call with other arguments', { tools }, [...call('go', '{"to":2}'), finish('tool_calls')], 'tools!'],
    ['a call with a list as its arguments', { tools }, [...call('stop', '[]'), finish('tool_calls')], 'tools!'],
    [
      'a call with any object, when any will do',
      { tools },
      [...call('stop', '{"a":1}'), finish('tool_calls')],
      'tools',
    ],
    ['a call without arguments', { tools }, [...call('stop', ''), finish('tool_calls')], 'tools'],
    ['a call with half its arguments', { tools }, [...call('stop', '{"a"'), finish('tool_calls')], 'tools!'],
    ['a call with half its arguments, cut by the cap', { tools }, [...call('stop', '{"a"'), finish('length')], ''],
    ['a call of a tool that was not offered', { tools }, [...call('fly', '{}'), finish('tool_calls')], 'tools!'],
    ['a call whose schema cannot be compiled', { tools }, [...call('odd', '{}'), finish('tool_calls')], ''],
    [
      'two calls, one defective',
      { tools },
      [...call('stop', '{}'), ...call('go', '{', { tool: 1 }), finish('tool_calls')],
      'tools!',
    ],
    [
      'two calls, one that cannot be checked',
      { tools },
      [...call('stop', '{}'), ...call('odd', '{}', { tool: 1 }), finish('tool_calls')],
      'tools',
    ],
    ['no call where one is required', { tools, toolChoice: 'required' }, [text('Hi'), finish('stop')], 'tools!'],
    [
      'no call where one is required, cut by the cap',
      { tools, toolChoice: 'required' },
      [text('Hi'), finish('length')],
      '',
    ],
    [
      'a call where one is required',
      { tools, toolChoice: 'required' },
      [...call('stop', '{}'), finish('tool_calls')],
      'tools',
    ],
    ['no call where one is named', { tools, toolChoice: { name: 'go' } }, [text('Hi'), finish('stop')], 'tools!'],
    [
      'another call than the one named',
      { tools, toolChoice: { name: 'go' } },
      [...call('stop', '{}'), finish('stop')],
      'tools!',
    ],
    [
      'the call that is named',
      { tools, toolChoice: { name: 'stop' } },
      [...call('stop', '{}'), finish('stop')],
      'tools',
    ],
    ['a call where none is allowed', { tools, toolChoice: 'none' }, [...call('stop', '{}'), finish('stop')], 'tools!'],
    ['no call where none is allowed', { tools, toolChoice: 'none' }, [text('Hi'), finish('stop')], ''],
    [
      'a call instead of the format',
      { tools, ...object },
      [text('Let me see.'), ...call('stop', '{}'), finish('tool_calls')],
      'tools',
    ],
    ['the format instead of a call', { tools, ...object }, [text('{}'), finish('stop')], 'json_object'],
    [
      'neither the format nor the call that is demanded',
      { tools, toolChoice: 'required', ...object },
      [text('Hi'), finish('stop')],
      'tools! json_object!',
    ],
  ];
  it.each(rows)('%s', async (_, asked, events, expected) => {
    const findings = await validate(asked, events);
    expect(findings && inShort(findings)).toBe(expected);
  });

  it('reports where a defect is, and nothing of the answer', async () => {
    expect(await validate({ tools }, [...call('go', '{"to":"secret"}'), finish('tool_calls')])).toEqual({
      checked: ['tools'],
      defects: [{ capability: 'tools', detail: 'const at #/const', isTolerable: true, mayBeCallersFault: true }],
    });
    expect(JSON.stringify(await validate({ tools }, [...call('secret', '{}'), finish('stop')]))).not.toContain(
      'secret',
    );
  });

  it.each<readonly [string, Parameters<typeof validate>[0], readonly AnswerEvent[], boolean]>([
    ['arguments that miss the parameters', { tools }, [...call('go', '{"to":"x"}'), finish('tool_calls')], true],
    [
      'arguments that miss strict parameters',
      { tools: tools.map((tool) => ({ ...tool, strict: true })) },
      [...call('go', '{"to":"x"}'), finish('tool_calls')],
      false,
    ],
    ['arguments that are no JSON', { tools }, [...call('go', '{"to'), finish('tool_calls')], true],
    ['arguments with a comma too many', { tools }, [...call('go', '{"to":1,}'), finish('tool_calls')], true],
    ['arguments that are a list', { tools }, [...call('stop', '[]'), finish('tool_calls')], true],
    [
      'another call than the one named',
      { tools, toolChoice: { name: 'go' } },
      [...call('stop', '{}'), finish('stop')],
      true,
    ],
    ['a call where none is allowed', { tools, toolChoice: 'none' }, [...call('stop', '{}'), finish('stop')], true],
    ['words in place of a call', { tools, toolChoice: 'required' }, [text('No.'), finish('stop')], true],
    ['a call left in the text', { tools }, [text('<tool_call>'), finish('stop')], true],
    ['a call of a tool that is not there', { tools }, [...call('other', '{}'), finish('tool_calls')], true],
    ['JSON that misses the schema', schema, [text('{}'), finish('stop')], true],
    ['JSON that misses a strict one', strict, [text('{}'), finish('stop')], false],
    ['no JSON', schema, [text('Hello'), finish('stop')], false],
  ])('with %s says whether a caller can make use of it', async (_, asked, events, isTolerable) => {
    expect((await validate(asked, events))?.defects).toMatchObject([{ isTolerable }]);
  });

  it('too long to keep gets the benefit of the doubt', async () => {
    const half = '"'.padEnd(4 * 1024 * 1024, 'a');
    const events = [text(half), text(half.slice(1))];
    // Its twin is as long as an answer may be.
    expect(await validate(object, [...events, finish('stop')])).toMatchObject({ checked: ['json_object'] });
    expect(await validate(object, [...events, text('aa'), finish('stop')])).toEqual({ checked: [], defects: [] });
  });

  it('is asked about call by call and choice by choice, once each', async () => {
    const checker = createChecker();
    const watch = watchStructure({ tools, sampling: {}, ...object }, checker);
    watch?.take([...call('go', '{"to":1}'), ...call('stop', '{}', { tool: 1 }), finish('tool_calls')]);
    watch?.take([text('{}', 1), finish('stop', 1)]);
    await watch?.validate();
    expect(checker.asks).toEqual([{ text: '{"to":1}', schema: { const: { to: 1 } } }, { text: '{}' }, { text: '{}' }]);
  });
});

/** `yes` is valid, `no` misses the schema, anything else is no JSON. */
const check: StructureChecker['check'] = ({ text }) =>
  Promise.resolve(
    text === 'yes'
      ? { kind: 'valid' }
      : { kind: 'invalid', detail: '', ...(text === 'no' ? { missesSchema: true } : {}) },
  );

const answer = (text: string): readonly AnswerEvent[] => [
  { type: 'text-delta', choice: 0, text, deltas: 1 },
  { type: 'finish', choice: 0, reason: 'stop' },
];
const responseFormat = { type: 'json_schema', name: 's', schema: {} } as const;

function begin(routes: number) {
  const findings: string[] = [];
  const validator = createStructureValidator(
    { tools: [], responseFormat, sampling: {} },
    {
      ...{ structures: { check }, caller: 'key_one', routes },
      retries: createStructureRetries({ clock: createFakeClock() }),
      health: { structure: (route, { result }) => findings.push(`${route.backend.name} ${result}`) },
    },
  );
  if (validator === undefined) throw new Error('nothing to validate');
  return { validator, findings };
}

describe('the answers to one request', () => {
  it.each<readonly [string, readonly string[], readonly string[]]>([
    ['a miss is the route’s fault where another route does better', ['no', 'yes'], ['b valid', 'a invalid']],
    ['and so is what is no JSON', ['?', 'yes'], ['b valid', 'a invalid']],
    ['a miss on every route may be the schema’s', ['no', 'no'], ['a missed', 'b missed']],
    ['and so may be words that every route says', ['?', '?'], ['a missed', 'b missed']],
    ['a miss on the only route may be the schema’s', ['no'], ['a missed']],
    ['what is no JSON is the fault of the only route', ['?'], ['a invalid']],
  ])('%s', async (_, texts, expected) => {
    const { validator, findings } = begin(texts.length);
    for (const [at, text] of texts.entries())
      await validator.validateWhole(answer(text), { route: routeOf('ab'[at] ?? '') });
    validator.close();
    expect(findings).toEqual(expected);
  });

  it('say nothing certain of a route where others were not asked', async () => {
    const { validator, findings } = begin(2);
    await validator.validateWhole(answer('?'), { route: routeOf('a') });
    validator.close();
    expect(findings).toEqual(['a missed']);
  });

  it.each([
    ['yes', 'a valid'],
    ['no', 'a missed'],
    ['?', 'a invalid'],
  ])('streamed as %s, leave the finding %s', async (text, finding) => {
    const { validator, findings } = begin(2);
    validator.take(answer(text));
    validator.streamed(routeOf('a'));
    await expect.poll(() => findings).toEqual([finding]);
  });
});
