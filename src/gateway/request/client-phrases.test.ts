// @suite apart
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { asFailure, type Failure } from '../../core/failure.ts';
import type { LimitName } from '../../core/limits.ts';
import { admit } from '../admission/limits.ts';
import { checkLoad, overloadLimits } from '../admission/overload.ts';
import { dialects } from '../dialects/dialects.ts';
import { contextOverflow } from '../routing/plan.ts';
import { credentialOf } from '../../../test/support/credential-of.ts';

/**
 * The patterns by which agents and libraries recognize an error, from their sources. Some are tested against the message,
 * some against the whole body.
 */
const lookFor: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  overflow: {
    'Claude Code': /prompt is too long/i,
    opencode: /prompt is too long|exceeds the context window|reduce the length of the messages/i,
    'Kilo Code': /exceeds the context window/i,
    pi: /maximum context length is \d+ tokens/i,
    Cline: /\bcontext\s*(?:length|window|limit)\b/i,
    'Roo Code': /maximum.*tokens/i,
    'Qwen Code': /\bmaximum context length\b/i,
    Continue: /reduce the length of the messages/,
    Goose: /context length/i,
    LiteLLM: /this model's maximum context length is/i,
    aider: /this model's maximum context length is/i,
    OpenHands: /prompt is too long/i,
    LangChain: /prompt is too long.*context_length_exceeded/,
  },
  rate: { Cline: /rate limit/i, LiteLLM: /rate[\s_-]*limit/i, pi: /rate.?limit/i },
  balance: { 'Claude Code': /credit balance is too low/i },
  budget: { Cline: /quota exceeded/i },
  overload: { pi: /overloaded/i, Continue: /overloaded/i },
};

/** Errors that these clients must not mistake an overflow for: they would send the request again and again. */
const mistakes: Readonly<Record<string, RegExp>> = {
  Cline: /rate[\s_-]?limit|per[\s_-]?minute\b/i,
  LiteLLM: /rate[\s_-]*limit|\b429\b/i,
  'Qwen Code': /deadline exceeded|timed? ?out/i,
};

const rate = { limit: 100, remaining: 0, resetSeconds: 2, nextSeconds: 1 };

async function refusedBy(by: LimitName): Promise<Failure> {
  const credential = credentialOf({ key: { budget: { limit: 5n, period: 'day' } } });
  const spent = { ...credential, spent: 5n, workspace: { ...credential.workspace, balance: 0n } };
  const refused = admit({ credential: spent, latest: () => spent }, { admit: () => ({ kind: 'refused', by, rate }) });
  return refused.then(() => expect.unreachable(), asFailure);
}

it('no client takes a limit in tokens for a prompt that does not fit', async () => {
  const { message } = await refusedBy('tokens');
  expect(message).toContain('tokens a minute');
  for (const pattern of Object.values(lookFor['overflow'] ?? {})) expect(message).not.toMatch(pattern);
  for (const pattern of Object.values(lookFor['rate'] ?? {})) expect(message).toMatch(pattern);
});

/** The refusal of a service with as many requests under way as it can serve. */
function shedNow(): Failure {
  const idle = { eventLoopDelayMs: 0, ownDelayMs: 0, memoryShare: 0, filesShare: 0, medianWaitMs: 0, queuedForMs: 0 };
  try {
    checkLoad({ openRequests: 1_000_000 }, { limits: overloadLimits(1024 ** 3), random: () => 0, current: () => idle });
  } catch (error) {
    return asFailure(error);
  }
  return expect.unreachable();
}

const failures: Readonly<Record<string, () => Failure | Promise<Failure>>> = {
  overflow: () => contextOverflow({ contextLength: 8192 }),
  rate: () => refusedBy('rate'),
  balance: () => refusedBy('balance'),
  budget: () => refusedBy('budget'),
  overload: shedNow,
};

/** The rows of the table in docs/how-to/clients.md. */
const [, section = ''] = readFileSync(new URL('../../../docs/how-to/clients.md', import.meta.url), 'utf8').split(
  '## Phrases in error messages',
);
const rows = [...section.matchAll(/^\| ([a-z].+?) \| (\d{3}).*? \| (`.+?) \| (.+) \|$/gm)].map(
  ([, what = '', status = '', phrases = '', clients = '']) => ({
    ...{ what, status: Number(status), clients: clients.split(', ') },
    phrases: [...phrases.matchAll(/`([^`]+)`/g)].map(([, phrase = '']) => new RegExp(phrase.replace(' N ', ' \\d+ '))),
  }),
);
const whatOf: Readonly<Record<string, string>> = {
  overflow: 'the prompt does not fit',
  rate: 'a rate or concurrency limit',
  balance: 'the balance is used up',
  budget: "the key's budget is used up",
  overload: 'the service is at its limit',
};

describe.each(Object.keys(lookFor))('what clients look for: %s', (kind) => {
  const row = rows.find(({ what }) => what === whatOf[kind]);

  it('has the same clients in docs/how-to/clients.md', () => {
    expect(row?.clients.toSorted()).toEqual(Object.keys(lookFor[kind] ?? {}).toSorted());
  });

  it.each(Object.values(dialects).map((dialect) => [dialect.surface, dialect] as const))(
    'is found on %s',
    async (_, dialect) => {
      const failure = (await failures[kind]?.()) ?? expect.unreachable();
      const body = dialect.writeError(failure);
      const { message } = (JSON.parse(body) as { readonly error: { readonly message: string } }).error;
      expect(failure.row.status).toBe(row?.status);
      expect(row?.phrases.length).toBeGreaterThan(0);
      for (const phrase of row?.phrases ?? []) expect(message).toMatch(phrase);
      for (const [client, pattern] of Object.entries(lookFor[kind] ?? {})) expect(body, client).toMatch(pattern);
      if (kind !== 'overflow') return;
      // One sentence, because some clients read only the first.
      expect(message.match(/\.(?:\s|$)/g)).toHaveLength(1);
      for (const [client, pattern] of Object.entries(mistakes)) expect(body, client).not.toMatch(pattern);
    },
  );
});

it('every row of docs/how-to/clients.md is one of these', () => {
  expect(rows.map(({ what }) => what)).toEqual(Object.values(whatOf));
});
