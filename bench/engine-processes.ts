import { enginesSharePort } from './mock-engine.ts';
import { type PortProcess, startPortProcess } from './port-process.ts';

export interface EngineProcesses {
  readonly port: number;
  readonly pids: readonly number[];
  readonly stop: () => Promise<void>;
}

/**
 * Starts mock engines that share one port, each in its own process, so that the engine is never what limits a load.
 * Starts a single one where ports cannot be shared.
 */
export async function startEngines(wanted: number): Promise<EngineProcesses> {
  const count = enginesSharePort ? wanted : 1;
  const engines: PortProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(engines.map((engine) => engine.stop()));
  };
  let port = 0;
  try {
    for (let index = 0; index < count; index += 1) {
      const program = new URL('./mock-engine-process.ts', import.meta.url);
      const engine = await startPortProcess(program, { args: [String(port)] });
      engines.push(engine);
      ({ port } = engine);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, pids: engines.map(({ pid }) => pid), stop };
}
