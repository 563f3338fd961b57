import { nodeFlags } from '../src/programs/local/launch-service.ts';
import { type PortProcess, startPortProcess } from './port-process.ts';

interface BarePathOptions {
  /** Envoy's binary. */
  readonly binary: string;
  readonly folder: string;
  readonly enginePort: number;
}

/**
 * Starts the path of a request through Weir without what Weir does on it: Envoy with Weir's configuration, and a service
 * of Weir's gRPC server and Weir's client for engines, which passes bodies on unread. It has no keys, limits, plans,
 * bills, metrics or store. Its cost is what remains of Weir's cost if the rest costs nothing.
 */
export function startBarePath({ binary, folder, enginePort }: BarePathOptions): Promise<PortProcess> {
  const program = new URL('./bare-path-process.ts', import.meta.url);
  return startPortProcess(program, { args: [folder, String(enginePort), binary], nodeFlags });
}
