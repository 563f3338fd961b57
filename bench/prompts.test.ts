import { expect, it } from 'vitest';
import { openBodies, type Surface } from './prompts.ts';

const model = 'bench/any';
const bodies = (count: number, bytes: number, turns?: number): readonly string[] => {
  const next = openBodies(model, { surface: 'chat', bytes, ...(turns === undefined ? {} : { turns }) }, 1);
  return Array.from({ length: count }, () => next().body);
};

it('a conversation grows by a turn with each request, keeps what was said, and begins anew after a tenth', () => {
  const [first = '', second = '', third = ''] = bodies(3, 40_000);
  expect(bodies(1, 40_000)).toEqual([first]);
  expect(first.length).toBeGreaterThan(40_000);
  expect(first.length).toBeLessThan(48_000);
  expect(second.startsWith(first.slice(0, -2))).toBe(true);
  expect(second.length).toBeGreaterThan(first.length);
  expect(third.startsWith(first.slice(0, 25_000))).toBe(false);
});

it('counts the turns of a conversation', () => {
  const next = openBodies(model, { surface: 'chat', bytes: 100_000, turns: 2 }, 1);
  expect(Array.from({ length: 5 }, () => next().turn)).toEqual([0, 1, 0, 1, 0]);
});

it.each([
  ['chat', 'messages', ['system', 'user', 'assistant', 'user']],
  ['messages', 'messages', ['user', 'assistant', 'user']],
  ['responses', 'input', ['user', 'assistant', 'user']],
] as const)(
  'a prompt of the surface %s has 20 KB of tools, and turns that end with the user',
  (surface, list, roles) => {
    const read = (bytes: number, of: Surface) => JSON.parse(openBodies(model, { surface: of, bytes }, 1)().body);
    const body = read(100_000, surface);
    expect(body).toMatchObject({ model });
    expect(JSON.stringify(body.tools).length / 20_000).toBeCloseTo(1, 0);
    const said: readonly string[] = body[list].map(({ role }: { role: string }) => role);
    expect(said.slice(0, roles.length)).toEqual(roles);
    expect(said.at(-1)).toBe('user');
  },
);
