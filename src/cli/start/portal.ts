import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { readAdminToken } from '../../portal/secrets.ts';
import { startChild } from '../../process/child.ts';
import { readPortalSettings } from '../../settings.ts';
import { type Own, type StartContext, supervisePart, waitUntilUp } from './gateway.ts';

/** Messages of the portal to the program that started it, over their channel. */
const portalMessage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), port: z.int() }),
  /** The portal is about to end, for a reason the operator must read. */
  z.object({ type: z.literal('fatal'), message: z.string() }),
  /** The answer to `ping`. */
  z.object({ type: z.literal('alive') }),
]);

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
const names = { name: 'The portal', recordedAs: 'the portal', log: 'portal.log' } as const;
/** How long a portal that gave up may take to close what it has open. */
const lastWordsMs = 2_000;

/** Settings of `weir start` itself, which the portal would refuse. */
const notForThePortal = { WEIR_WATCHDOG_SECONDS: undefined, WEIR_UPSTREAM_KEY: undefined } as const;

export interface PortalPlace {
  /** Addresses of the services' ops ports. */
  readonly services: readonly string[];
  /** Where clients call the models, with `/v1`. */
  readonly baseUrl: string;
}

/**
 * Starts the portal and starts it again whenever it ends by itself. Resolves to the address that signs in, or to undefined when the
 * operator wants the gateway to end first.
 */
export async function startPortal(context: StartContext, place: PortalPlace, own: Own): Promise<string | undefined> {
  const { data, report, stop } = context;
  // Refused here and by name: a child's own refusal would come after its log.
  const settings = readPortalSettings({ ...process.env, ...notForThePortal, WEIR_DATA: data });
  let port = settings.WEIR_ADMIN_PORT;
  const supervised = supervisePart(context, names, (logPath) => {
    const { promise: isUp, resolve } = Promise.withResolvers<void>();
    let asking: (() => void)[] = [];
    const child = startChild({
      command: process.execPath,
      // A portal that is started again keeps the port that was printed.
      args: [main, 'portal', `--data=${data}`, `--port=${port}`],
      env: {
        ...notForThePortal,
        WEIR_SERVICES: process.env['WEIR_SERVICES'] ?? place.services.join(','),
        WEIR_PUBLIC_URL: process.env['WEIR_PUBLIC_URL'] ?? place.baseUrl,
      },
      logPath,
      onMessage: (raw) => {
        const message = portalMessage.safeParse(raw).data;
        switch (message?.type) {
          case 'ready':
            port = message.port;
            resolve();
            return;
          case 'fatal':
            report(message.message);
            // Something open may keep it running, and while it runs it is not started again.
            void child.stop(lastWordsMs);
            return;
          case 'alive':
            for (const answer of asking) answer();
            asking = [];
            return;
          case undefined:
            return;
        }
      },
    });
    const isAnswering = async (): Promise<boolean> => {
      const { promise, resolve: answer } = Promise.withResolvers<void>();
      asking.push(answer);
      child.send('ping');
      await promise;
      return true;
    };
    return { child, isUp, isAnswering };
  });
  own(supervised);
  await waitUntilUp(supervised, stop);
  return stop.aborted
    ? undefined
    : signInUrl(settings.WEIR_ADMIN_HOST, port, tokenOf(settings.WEIR_ADMIN_TOKEN_FILE, data));
}

function tokenOf(given: string | undefined, data: string): string | undefined {
  const file = given ?? join(data, 'admin-token');
  return existsSync(file) ? readAdminToken(file, 'refuse') : undefined;
}

/** What follows the `#` stays in the browser: it is in no log and in no request. */
function signInUrl(host: string, port: number, token: string | undefined): string {
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const base = `http://${address.includes(':') ? `[${address}]` : address}:${port}/`;
  return token === undefined ? base : `${base}#token=${encodeURIComponent(token)}`;
}
