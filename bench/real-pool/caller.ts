import { setTimeout as pause } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { Agent, request } from 'undici';
import type { Session } from './workload.ts';

/** Who answers: its address, and what a request needs beside its messages. */
export interface Target {
  readonly url: string;
  readonly model: string;
  readonly key: string | undefined;
}

export interface Sample {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** From the request to the first text, ms. */
  readonly firstMs: number;
  /** Undefined: whole, with its usage. */
  readonly failure: string | undefined;
}

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string | null } }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  } | null;
}

const answerTokens = 24;
const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

/** Runs the sessions of a workload together. Resolves to a sample of each request. */
export async function runSessions(sessions: readonly Session[], target: Target): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  const histories = new Map<string, Message[]>();
  const answered = new Map(
    sessions.map(({ name, turns }) => [name, turns.map(() => Promise.withResolvers<readonly Message[]>())]),
  );
  await Promise.all(
    sessions.map(async ({ name, startMs, system, turns, parent }) => {
      await pause(startMs);
      const before = parent === undefined ? undefined : await answered.get(parent.name)?.[parent.turn]?.promise;
      const messages: Message[] = before === undefined ? [{ role: 'system', content: system }] : [...before];
      histories.set(name, messages);
      for (const [index, { pauseMs, text }] of turns.entries()) {
        await pause(pauseMs);
        messages.push({ role: 'user', content: text });
        const { sample, answer } = await ask(messages, target);
        samples.push(sample);
        messages.push({ role: 'assistant', content: answer });
        answered.get(name)?.[index]?.resolve([...messages]);
      }
    }),
  );
  return samples;
}

async function ask(
  messages: readonly Message[],
  { url, model, key }: Target,
): Promise<{ readonly sample: Sample; readonly answer: string }> {
  const began = performance.now();
  let [answer, firstMs, promptTokens, cachedTokens] = ['', 0, 0, 0];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const { choices, usage } = JSON.parse(data) as Chunk;
      const text = choices[0]?.delta.content ?? '';
      if (text !== '' && answer === '') firstMs = performance.now() - began;
      answer += text;
      if (usage) {
        promptTokens = usage.prompt_tokens;
        cachedTokens = usage.prompt_tokens_details?.cached_tokens ?? 0;
      }
    },
  });
  const failed = (failure: string) => ({
    sample: { promptTokens, cachedTokens, firstMs: performance.now() - began, failure },
    answer,
  });
  try {
    const { statusCode, body } = await request(`${url}/chat/completions`, {
      ...{ dispatcher, method: 'POST' },
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
      body: JSON.stringify({
        ...{ model, messages, max_tokens: answerTokens, temperature: 0 },
        ...{ stream: true, stream_options: { include_usage: true } },
      }),
    });
    if (statusCode !== 200) return failed(`${statusCode}: ${(await body.text()).slice(0, 200)}`);
    const decoder = new TextDecoder();
    for await (const piece of body) parser.feed(decoder.decode(piece as Uint8Array, { stream: true }));
  } catch (error) {
    return failed(error instanceof Error ? error.message : 'no answer');
  }
  if (promptTokens === 0 || answer === '') return failed('no usage or no text');
  return { sample: { promptTokens, cachedTokens, firstMs, failure: undefined }, answer };
}
