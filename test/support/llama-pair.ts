import { type Llama, type LlamaOptions, startLlama } from './llama.ts';

/** Two real engines with the same model. The one that writes can be killed, and comes back at its address. */
export interface LlamaPair {
  /** As they are now. */
  readonly engines: () => readonly [Llama, Llama];
  /** Kills the engine that writes at this moment. Resolves with its number, or with undefined if none writes. */
  readonly killWriting: () => Promise<0 | 1 | undefined>;
  /** Starts a killed engine again, on its port. */
  readonly revive: (index: 0 | 1) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Below the range of outgoing connections: one of those might take the port before the engine comes back. */
const lowPort = (): number => 20_000 + Math.floor(Math.random() * 12_000);

/** Starts an engine at a port that may be taken for a moment: by connections of the one that was killed there. */
async function startAt(port: () => number, options: LlamaOptions): Promise<Llama> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startLlama({ ...options, port: port() });
    } catch (error) {
      if (tries === 50) throw error;
    }
  }
}

export async function startLlamaPair(options: Omit<LlamaOptions, 'port'> = {}): Promise<LlamaPair> {
  const engines: [Llama, Llama] = await Promise.all([startAt(lowPort, options), startAt(lowPort, options)]);
  return {
    engines: () => engines,
    killWriting: async () => {
      for (const index of [0, 1] as const) {
        const response = await fetch(`${engines[index].url}/slots`);
        const slots = (await response.json()) as readonly { readonly is_processing: boolean }[];
        if (!slots.some((slot) => slot.is_processing)) continue;
        await engines[index].kill();
        return index;
      }
      return undefined;
    },
    revive: async (index) => {
      const { port } = engines[index];
      engines[index] = await startAt(() => port, options);
    },
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close()));
    },
  };
}
