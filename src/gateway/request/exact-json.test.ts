import { describe, expect, it } from 'vitest';
import { answerTo, ways } from '../../../test/support/next-turn.ts';
import { targetOf } from '../../../test/support/route-of.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import { chatEngineNames } from '../../core/engine-name.ts';
import type { ChatSurface } from '../../core/dialect.ts';
import { prepareHere } from './prepare.ts';

/** Objects that a parser and a writer change. */
const exact = [
  '{"id":1234567890123456789,"ratio":1.0}',
  '{"b":1,"10":{"z":1,"9":2},"2":[1E+2,-0,1e400]}',
  '{"__proto__":{"x":1},"a":1,"a":2}',
  String.raw`{ "t" : "\u00e9\/", "u":"\ud800" }`,
] as const;

function bodyFor(surface: ChatSurface, body: string, engine: (typeof chatEngineNames)[number] = 'vllm'): string {
  const bytes = new TextEncoder().encode(body);
  const prepared = prepareHere(bytes, { surface, countPrompt: uncounted, secret: 'secret' });
  const parameters = ['temperature'] as const;
  return prepared.bodyFor(targetOf('a', { engine, parameters })) as string;
}

const user = '{"role":"user","content":"Look."}';
const schemaOf = (text: string): string => `{"type":"object","default":${text},"properties":{"2":{},"1":{}}}`;

describe('JSON that callers send', () => {
  it.each(exact)('in inputs of calls reaches engines as it was: %s', (text) => {
    const use = `{"type":"tool_use","id":"toolu_1","name":"look","input":${text}}`;
    const result = '{"type":"tool_result","tool_use_id":"toolu_1"}';
    const messages = `[${user},{"role":"assistant","content":[${use}]},{"role":"user","content":[${result}]}]`;
    const sent = bodyFor('messages', `{"model":"demo/tiny","max_tokens":9,"messages":${messages}}`);
    expect(sent).toContain(`"arguments":${JSON.stringify(text)}`);
  });

  const tool = { name: 'look', description: 'Looks.' };
  const [open] = [JSON.stringify(tool).slice(0, -1)];
  const tools: readonly (readonly [surface: ChatSurface, toolOf: (schema: string) => string])[] = [
    ['chat', (schema) => `{"type":"function","function":${open},"parameters":${schema}}}`],
    ['messages', (schema) => `${open},"input_schema":${schema}}`],
    ['responses', (schema) => `{"type":"function",${open.slice(1)},"parameters":${schema}}`],
  ];

  it.each(tools.flatMap((row) => exact.map((text) => [...row, text] as const)))(
    'in schemas of tools reaches every engine as it was: %s',
    (surface, toolOf, text) => {
      const schema = schemaOf(text);
      const conversation = surface === 'responses' ? `"input":[${user}]` : `"messages":[${user}]`;
      for (const engine of chatEngineNames) {
        const body = `{"model":"demo/tiny","max_tokens":9,"temperature":1,${conversation},"tools":[${toolOf(schema)}]}`;
        expect(bodyFor(surface, body, engine)).toContain(`"parameters":${schema}`);
      }
    },
  );

  it.each(exact)('in schemas of answers reaches every engine as it was: %s', (text) => {
    const schema = schemaOf(text);
    const formats: readonly (readonly [ChatSurface, string])[] = [
      [
        'chat',
        `"messages":[${user}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":${schema}}}`,
      ],
      [
        'messages',
        `"messages":[${user}],"max_tokens":9,"output_config":{"format":{"type":"json_schema","schema":${schema}}}`,
      ],
      ['responses', `"input":[${user}],"text":{"format":{"type":"json_schema","name":"a","schema":${schema}}}`],
    ];
    for (const [surface, members] of formats) {
      // Engines that know no schema are asked for an object, or get no such request.
      for (const engine of [
        'openai',
        'vllm',
        'sglang',
        'llamacpp',
        'ollama',
        'tgi',
        'moonshot',
        'fireworks',
      ] as const) {
        expect(bodyFor(surface, `{"model":"demo/tiny",${members}}`, engine)).toContain(`:${schema}`);
      }
    }
  });

  it('loses `$schema` for Moonshot, and nothing else', () => {
    const format = '{"type":"json_schema","json_schema":{"name":"a","schema":{"$schema":"x","n":1.0,"2":1,"1":2}}}';
    const body = `{"model":"demo/tiny","messages":[${user}],"response_format":${format}}`;
    expect(bodyFor('chat', body, 'moonshot')).toContain('"schema":{"n":1.0,"2":1,"1":2}');
  });
});

describe.each(ways)('JSON that engines send, on the surface $surface, stream $stream', (way) => {
  it.each(
    exact.flatMap((text) => [
      ['as a text', text, JSON.stringify(text)],
      ['as an object', text, text],
    ]),
  )('in arguments %s reaches callers as it was: %s', (_, text, written) => {
    const call = `{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":${written}}}`;
    const message = `{"role":"assistant","content":null,"tool_calls":[${call}]}`;
    const name = way.stream ? 'delta' : 'message';
    const answer = `{"choices":[{"index":0,"${name}":${message},"finish_reason":"tool_calls"}]}`;
    const got = answerTo(way, way.stream ? `data: ${answer}\n\n` : answer);
    const isInput = way.surface === 'messages' && !way.stream;
    expect(got).toContain(isInput ? `"input":${text}` : JSON.stringify(text));
  });
});
