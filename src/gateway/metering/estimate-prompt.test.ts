import { expect, it } from 'vitest';
import { prepareHere } from '../request/prepare.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import { estimatePrompt } from './estimate-prompt.ts';

const model = { contextLength: 131_072 };
const shapeOf = (body: object) =>
  prepareHere(new TextEncoder().encode(JSON.stringify({ model: 'demo/tiny', ...body })), {
    ...{ surface: 'chat', countPrompt: uncounted },
  }).shape;
const bulk = 'A1b2'.repeat(1_000_000);

it('does not grow with what is ignored or is the bytes of an image', () => {
  const messages = [{ role: 'user', content: 'hi' }];
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${bulk}` } };
  const withImage = [{ role: 'user', content: [{ type: 'text', text: 'hi' }, image] }];
  expect(estimatePrompt(shapeOf({ messages }), model)).toBe(1);
  expect(estimatePrompt(shapeOf({ messages, ignored: bulk }), model)).toBe(1);
  expect(estimatePrompt(shapeOf({ messages: withImage }), model)).toBe(1);
});

it('takes images by the rule of the model, where it has one', () => {
  const shape = { textTokens: 3, images: 2, messages: 1 };
  expect(estimatePrompt(shape, { ...model, tokenizer: { path: 'a', tokensPerImage: 256 } })).toBe(515);
});

it('is never above the context window', () => {
  expect(estimatePrompt(shapeOf({ messages: [{ role: 'user', content: bulk }] }), model)).toBe(131_072);
  const many = { textTokens: 3, images: 1000, messages: 1 };
  expect(estimatePrompt(many, { ...model, tokenizer: { path: 'a', tokensPerImage: 256 } })).toBe(131_072);
});
