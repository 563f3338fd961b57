import type { TestProject } from 'vitest/node';
import { removeStarts, start } from '../../support/start.ts';

/** What the tests of the portal share: one gateway, as `npm start` starts it on a machine that has none yet. */
export interface SharedGateway {
  /** Where clients call it, with `/v1`. */
  readonly baseUrl: string;
  /** The key of the demo. */
  readonly key: string;
  /** `http://127.0.0.1:PORT` */
  readonly portal: string;
  /** The admin token. */
  readonly token: string;
  readonly data: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    readonly gateway: SharedGateway;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = await start([], { portal: true, env: { WEIR_ADMIN_PORT: '0', WEIR_OPS_PORT: '0' } });
  const printed = /^portal: +(\S+)$/m.exec(started.stdout())?.[1];
  if (printed === undefined) throw new Error(`weir start printed no address of the portal:\n${started.stdout()}`);
  const { origin, hash } = new URL(printed);
  project.provide('gateway', {
    ...{ baseUrl: started.baseUrl, key: started.key, data: started.data },
    ...{ portal: origin, token: new URLSearchParams(hash.slice(1)).get('token') ?? '' },
  });
  return removeStarts;
}
