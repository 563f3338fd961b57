import { expect, it } from 'vitest';
import type { Request } from '../core/request.ts';
import { handedOver } from './hand-over.ts';

const request: Request = {
  ...{ modelId: 'a/b', messages: [{ role: 'user', content: 'x' }], stream: false, includeUsage: false, inert: [] },
  ...{ tools: [{ name: 'f', parameters: { type: 'object' }, strict: true }], sampling: { n: 2, logit_bias: { 1: 2 } } },
  responseFormat: { type: 'json_schema', name: 's', schema: { type: 'array' } },
};
const large = { enum: Array.from({ length: 30_000 }, (_, index) => index) };

it('hands over all of a usual request but its messages', () => {
  const { messages: _, ...rest } = request;
  expect(handedOver(request)).toEqual(rest);
});

it('leaves large schemas behind, and what comes after them in the list too', () => {
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

it('asks for any JSON where the schema of an answer is left behind: it may be no object', () => {
  const responseFormat = { type: 'json_schema', name: 's', schema: large, strict: true } as const;
  expect(handedOver({ ...request, responseFormat }).responseFormat).toEqual({ ...responseFormat, schema: {} });
});

it('tells that there are biases, and not a hundred thousand of them', () => {
  const biases = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [String(index), 1]));
  expect(
    Object.keys(handedOver({ ...request, sampling: { logit_bias: biases } }).sampling.logit_bias ?? {}),
  ).toHaveLength(1);
  expect(handedOver({ ...request, sampling: { logit_bias: {} } }).sampling.logit_bias).toEqual({});
});
