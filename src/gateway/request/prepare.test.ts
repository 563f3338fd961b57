import { describe, expect, it } from 'vitest';
import type { Request } from '../../core/request.ts';
import { handedOver, prepareHere } from './prepare.ts';
import { targetOf } from '../../../test/support/route-of.ts';
import { uncounted } from '../../../test/support/uncounted.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const bodyWith = (more: string): string => `{"model":"demo/tiny","messages":[{"role":"user","content":"hi"}]${more}}`;

describe('preparing a request', () => {
  it('reads the body and writes it for a route', () => {
    const prepared = prepareHere(encode(bodyWith(',"temperature":0.5')), { surface: 'chat', countPrompt: uncounted });
    expect(prepared).toMatchObject({
      shape: {
        bodyBytes: 83,
        isAscii: true,
        textTokens: 1,
        messageTokens: 1,
        messages: 1,
        tools: 0,
        toolCalls: 0,
        images: 0,
        callerImages: 0,
        imageBytes: 0,
        hasLaterSystem: false,
        conversation: undefined,
      },
      request: { modelName: 'demo/tiny' },
    });
    expect(JSON.parse(prepared.bodyFor(targetOf('a', { parameters: ['temperature'] })) as string)).toEqual({
      ...{ model: 'Tiny/Upstream-1B', messages: [{ role: 'user', content: 'hi' }], temperature: 0.5, stream: false },
    });
  });

  it('counts images in any message', () => {
    const body =
      '{"model":"m/x","messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"image_url","image_url":"https://x"}]}]}';
    expect(prepareHere(encode(body), { surface: 'chat', countPrompt: uncounted }).shape.images).toBe(1);
  });

  it('refuses an image that engines may not fetch, in a result of a tool too, and names its field', () => {
    const image = { type: 'image', source: { type: 'url', url: 'http://10.0.0.1/x.png' } };
    const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'x' }, image] };
    const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { url: 'http://10.0.0.1/x.png' } };
    const messages = [
      { role: 'user', content: 'http://10.0.0.1/x.png' },
      { role: 'assistant', content: [call] },
      { role: 'user', content: [result] },
    ];
    const body = encode(JSON.stringify({ model: 'm/x', max_tokens: 9, messages }));
    const how = { surface: 'messages', countPrompt: uncounted } as const;
    expect(prepareHere(body, how).shape.images).toBe(1);
    expect(() => prepareHere(body, { ...how, imageHosts: [] })).toThrow(
      /^messages\[2\]\.content\[0\]\.content\[1\]\.source\.url: /,
    );
  });

  it.each([
    ['nothing', ''],
    ['half of it', '{"model":"CANARY'],
    ['two of them', '{}{}'],
    ['a number that is none', bodyWith(',"n":NaN')],
  ])('refuses %s as no JSON, without quoting it', (_, body) => {
    expect(() => prepareHere(encode(body), { surface: 'chat', countPrompt: uncounted })).toThrow(
      expect.objectContaining({ code: 'invalid_request', message: 'The request body is not valid JSON.' }) as Error,
    );
  });

  it('refuses bytes that are no UTF-8', () => {
    expect(() =>
      prepareHere(Uint8Array.of(0x22, 0xc3, 0x28, 0x22), { surface: 'chat', countPrompt: uncounted }),
    ).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
  });

  it('accepts a byte order mark', () => {
    expect(
      prepareHere(encode(`\u{FEFF}${bodyWith('')}`), { surface: 'chat', countPrompt: uncounted }).request.modelName,
    ).toBe('demo/tiny');
  });

  it.each([
    ['lists', '['.repeat(200_000) + ']'.repeat(200_000)],
    ['objects', '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000)],
  ])('refuses %s nested too deeply, by their field', (_, deep) => {
    const refused = (field: string): Error =>
      expect.objectContaining({
        code: 'invalid_request',
        message: expect.stringContaining(`${field}: nested deeper`) as string,
      }) as Error;
    const tool = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"x":${deep}}}}]`;
    expect(() => prepareHere(encode(bodyWith(tool)), { surface: 'chat', countPrompt: uncounted })).toThrow(
      refused('tools[0].function.parameters'),
    );
    const format = `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"x":${deep}}}}`;
    expect(() => prepareHere(encode(bodyWith(format)), { surface: 'chat', countPrompt: uncounted })).toThrow(
      refused('response_format.json_schema.schema'),
    );
    // Depth does no harm in a field that is not read.
    expect(() =>
      prepareHere(encode(bodyWith(`,"unknown":${deep}`)), { surface: 'chat', countPrompt: uncounted }).bodyFor(
        targetOf('a'),
      ),
    ).not.toThrow();
  });

  it('accepts a schema of 256 levels', () => {
    const schema = `,"tools":[{"type":"function","function":{"name":"f","parameters":${'{"a":'.repeat(256)}1${'}'.repeat(256)}}}]`;
    expect(
      prepareHere(encode(bodyWith(schema)), { surface: 'chat', countPrompt: uncounted }).request.tools,
    ).toHaveLength(1);
    const deeper = schema.replace('1', '{}');
    expect(() => prepareHere(encode(bodyWith(deeper)), { surface: 'chat', countPrompt: uncounted })).toThrow(
      'nested deeper',
    );
  });

  it('passes a lone surrogate on as it came', () => {
    const body = '{"model":"m/x","messages":[{"role":"user","content":"a\\ud800b"}]}';
    expect(prepareHere(encode(body), { surface: 'chat', countPrompt: uncounted }).bodyFor(targetOf('a'))).toContain(
      '"a\\ud800b"',
    );
  });
});

const request: Request = {
  ...{ modelName: 'a/b', messages: [{ role: 'user', content: 'x' }], stream: false, includeUsage: false, inert: [] },
  ...{ tools: [{ name: 'f', parameters: { type: 'object' }, strict: true }], sampling: { n: 2, logit_bias: { 1: 2 } } },
  responseFormat: { type: 'json_schema', name: 's', schema: { type: 'array' } },
};
const large = { enum: Array.from({ length: 30_000 }, (_, index) => index) };

it('hands over all of a usual request except its messages', () => {
  const { messages: _, ...rest } = request;
  expect(handedOver(request)).toEqual(rest);
});

it('leaves large schemas behind, and all schemas after them', () => {
  const tools = [
    { name: 'small', parameters: { type: 'object' } },
    { name: 'large', parameters: large, strict: true },
    { name: 'later', parameters: { type: 'object' } },
  ];
  expect(handedOver({ ...request, tools }).tools).toEqual([
    tools[0],
    { name: 'large', strict: true },
    { name: 'later' },
  ]);
});

it('asks for any JSON if the schema of an answer is left behind: the answer need not be an object', () => {
  const responseFormat = { type: 'json_schema', name: 's', schema: large, strict: true } as const;
  expect(handedOver({ ...request, responseFormat }).responseFormat).toEqual({ ...responseFormat, schema: {} });
});

it('hands over one bias in place of a hundred thousand', () => {
  const biases = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [String(index), 1]));
  expect(
    Object.keys(handedOver({ ...request, sampling: { logit_bias: biases } }).sampling.logit_bias ?? {}),
  ).toHaveLength(1);
  expect(handedOver({ ...request, sampling: { logit_bias: {} } }).sampling.logit_bias).toEqual({});
});
