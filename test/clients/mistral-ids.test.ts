// @suite long
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { answerTo, nextTurn, turnOf, type Way, ways, type Wire } from '../support/next-turn.ts';
import { targetOf } from '../support/route-of.ts';
import { installRequirements } from './install.ts';

// Ids of calls after a round trip through the callers of each surface, before the check of Mistral's own library.

const requirements = join(import.meta.dirname, 'python', 'mistral-common.txt');
const python = join(await installRequirements('mistral-common', requirements), 'bin', 'python');

/** What the library says of each of these conversations. */
async function judged(conversations: readonly (readonly Wire[])[]): Promise<readonly string[]> {
  const program = join(import.meta.dirname, 'programs', 'mistral-ids.py');
  const child = spawn(python, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(conversations.map((messages) => `${JSON.stringify(messages)}\n`).join(''));
  return (await text(child.stdout)).trim().split('\n');
}

const mistral = targetOf('a', { upstreamModel: 'mistral-large-latest' });
const inTurn = 20;
const roundTrips = 10_000;

/** Ids as engines write them. */
const forms: readonly ((at: number) => string)[] = [
  (at) => `functions.look:${at}`,
  (at) => `call_${at.toString(16).padStart(24, '0')}`,
  (at) => `chatcmpl-tool-${at.toString(16).padStart(32, '0')}`,
  (at) => `toolu_01${at.toString(36).padStart(22, 'A')}`,
  // Mistral's own.
  (at) => at.toString(36).padStart(9, 'A'),
];

function messageOf(first: number): Wire {
  const calls = Array.from({ length: inTurn }, (_, at) => ({
    ...{ index: at, id: forms[(first + at) % forms.length]?.(first + at), type: 'function' },
    function: { name: 'look', arguments: '{}' },
  }));
  return { role: 'assistant', content: null, tool_calls: calls };
}

const turns = 10;

/** The conversation of this number, of turns with calls, as an engine gets it. */
function conversation(way: Way, number: number, target = mistral): readonly Wire[] {
  const made = Array.from({ length: turns }, (_, at) =>
    turnOf(way, answerTo(way, messageOf((number * turns + at) * inTurn))),
  );
  return nextTurn(way, made, target);
}

describe.each(ways)('on the surface $surface, stream $stream', (way) => {
  test(`all ids of its share of ${roundTrips} round trips are taken`, async () => {
    const count = Math.ceil(roundTrips / ways.length / inTurn / turns);
    const conversations = Array.from({ length: count }, (_, number) => conversation(way, number));
    const ids = conversations.flat().flatMap(({ tool_calls: calls }) => (calls ?? []) as readonly Wire[]);
    expect(ids).toHaveLength(count * turns * inTurn);
    expect(await judged(conversations)).toEqual(conversations.map(() => 'taken'));
  });

  test('they would be refused as they are', async () => {
    const [said] = await judged([conversation(way, 0, targetOf('a'))]);
    expect(said).toMatch(/: Tool call id was .* but must be a-z, A-Z, 0-9, with a length of 9/);
  });
});
