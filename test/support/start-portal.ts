import { setTimeout as pause } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { launchBrowser } from './chromium.ts';
import { start, type Started } from './start.ts';
import { stuckAfterMs } from './stuck-after.ts';

/** A gateway with its portal, and a browser. */
export interface StartedPortal {
  readonly gateway: Started;
  /** The origin of the portal. */
  readonly portal: string;
  /** The admin token. */
  readonly token: string;
  readonly browser: Browser;
}

/** Starts a gateway with its portal as `npm start` does, and a Chromium. All end with the stack. For programs that are no tests. */
export async function startPortal(
  stack: AsyncDisposableStack,
  options: { readonly data: string; readonly env?: Readonly<Record<string, string>> },
): Promise<StartedPortal> {
  const env = { WEIR_ADMIN_PORT: '0', WEIR_OPS_PORT: '0', ...options.env };
  const gateway = await start([], { data: options.data, portal: true, env });
  stack.defer(async () => void (await gateway.stop()));
  const [, portal = '', token = ''] = /^portal:\s+(\S+?)\/#token=(\S+)$/m.exec(gateway.stdout()) ?? [];
  await untilLive(portal, gateway);
  return { gateway, portal, token, browser: stack.use(await launchBrowser()) };
}

/** The address is printed before the portal listens. */
async function untilLive(portal: string, gateway: Started): Promise<void> {
  const limit = AbortSignal.timeout(stuckAfterMs);
  while (!(await isLive(portal, limit))) {
    if (limit.aborted) {
      const output = `${gateway.stderr()}${gateway.stdout()}`;
      throw new Error(`${stuckAfterMs / 1000} s passed before the portal answered at ${portal}/livez:\n${output}`);
    }
    await pause(100);
  }
}

async function isLive(portal: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await fetch(`${portal}/livez`, { signal })).ok;
  } catch {
    return false;
  }
}
