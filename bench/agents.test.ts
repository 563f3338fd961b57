import { expect, it } from 'vitest';
import { openConversation } from './agents.ts';

it('a conversation grows by a turn with each request, keeps what was said, and begins anew after a tenth', () => {
  const conversation = openConversation(40_000, 1);
  const next = (): string => JSON.stringify(conversation.next());
  const texts = [next(), next(), next()];
  expect(JSON.stringify(openConversation(40_000, 1).next())).toBe(texts[0]);
  expect(texts[0]?.length).toBeGreaterThan(40_000);
  expect(texts[1]?.startsWith(texts[0]?.slice(0, -1) ?? '?')).toBe(true);
  expect(texts[2]?.startsWith(texts[0]?.slice(0, 1_000) ?? '?')).toBe(false);
});
