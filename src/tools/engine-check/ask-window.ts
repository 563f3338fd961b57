import { fetch } from 'undici';
import * as z from 'zod';
import type { EngineAddress } from './ask-engine.ts';

const timeoutMs = 5_000;

const tokens = z.int().positive();
const props = z.object({ default_generation_settings: z.object({ n_ctx: tokens }) });
const loaded = z.object({ models: z.array(z.object({ name: z.string(), context_length: tokens.optional() })) });

/** The window of a running engine whose list of models does not tell it: llama.cpp, and Ollama for a loaded model. */
export async function askWindow(address: EngineAddress): Promise<number | undefined> {
  if (address.engine === 'llamacpp') {
    return props.safeParse(await read(address, '/props')).data?.default_generation_settings.n_ctx;
  }
  if (address.engine !== 'ollama') return undefined;
  const found = loaded.safeParse(await read(address, '/api/ps')).data?.models ?? [];
  const names = [address.model, `${address.model}:latest`];
  return found.find(({ name }) => names.includes(name))?.context_length;
}

/** Undefined: it has no such path, or does not answer in time. */
async function read({ base, headers, dispatcher }: EngineAddress, path: string): Promise<unknown> {
  try {
    const response = await fetch(`${new URL(base).origin}${path}`, {
      headers: Object.fromEntries(headers),
      redirect: 'manual',
      ...(dispatcher && { dispatcher }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status === 200) return await response.json();
    await response.body?.cancel();
  } catch {
    // Without an answer the window is not known.
  }
  return undefined;
}
