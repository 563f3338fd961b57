import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { localAddressOf } from '../../core/address.ts';
import type { LogLevel } from '../../core/log-level.ts';
import { readAdminToken } from '../../portal/secrets.ts';
import { type Child, startChild } from './child.ts';
import { type Own, type StartContext, supervisePart, waitUntilUp } from './gateway.ts';
import { type HeldProgram, holdProgram, launchProgram, secretsOfStart } from './launch-program.ts';

/** The portal's own message to the program that started it, in addition to those of every program: the portal serves. */
const portalMessage = z.object({ type: z.literal('ready'), port: z.int() });

const names = { name: 'The portal', recordedAs: 'the portal', log: 'portal.log' } as const;

interface PortalPlace {
  /** Addresses of the services' ops ports. */
  readonly services: readonly string[];
  /** Where clients call the models, with `/v1`. */
  readonly baseUrl: string;
  readonly held: HeldProgram | undefined;
}

const command = 'portal';
const placeArgs = ({ data }: StartContext): readonly string[] => [`--data=${data}`];

/** Starts the portal's program, which waits for `startPortal`. */
export const holdPortal = (context: StartContext): HeldProgram =>
  holdProgram({ command, args: placeArgs(context), logPath: join(context.folders.logs, names.log) });

/**
 * Starts the portal and starts it again whenever it ends by itself. Resolves to the address that signs in, or to undefined when the
 * operator wants the gateway to end first.
 */
export async function startPortal(context: StartContext, place: PortalPlace, own: Own): Promise<string | undefined> {
  const { data, stop, settings } = context;
  let port = settings.WEIR_ADMIN_PORT;
  let logLevel: LogLevel = settings.WEIR_LOG_LEVEL;
  const supervised = supervisePart(context, names, (logPath) => {
    const { promise: isUp, resolve } = Promise.withResolvers<void>();
    const { child, isAnswering } = launchProgram({
      ...{ command, held: place.held },
      // A restarted portal keeps the port that was printed, and the level that its log was set to.
      args: [...placeArgs(context), `--port=${port}`],
      env: {
        ...secretsOfStart,
        WEIR_LOG_LEVEL: logLevel,
        WEIR_SERVICES: settings.WEIR_SERVICES?.map(({ origin }) => origin).join(',') ?? place.services.join(','),
        WEIR_PUBLIC_URL: settings.WEIR_PUBLIC_URL ?? place.baseUrl,
      },
      logPath,
      onLogLevel: (level) => {
        logLevel = level;
      },
      onMessage: (raw) => {
        const message = portalMessage.safeParse(raw).data;
        if (message === undefined) return;
        port = message.port;
        resolve();
      },
    });
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

/** The part after the `#` stays in the browser: it is in no log and in no request. */
function signInUrl(host: string, port: number, token: string | undefined): string {
  const base = `http://${localAddressOf(host)}:${port}/`;
  return token === undefined ? base : `${base}#token=${encodeURIComponent(token)}`;
}

/** Not in an image, which has the built pages. */
const pagesProgram = fileURLToPath(new URL('../../../bin/build-pages.mjs', import.meta.url));

/**
 * Builds the pages of the portal where they are missing or older than their sources. The gateway does not wait for that: the portal shows
 * them as soon as they are there. Undefined: there is nothing to build them with.
 */
export function buildPages({ folders, report }: Pick<StartContext, 'folders' | 'report'>): Child | undefined {
  if (!existsSync(pagesProgram)) return undefined;
  return startChild({
    command: process.execPath,
    args: [pagesProgram],
    logPath: join(folders.logs, 'pages.log'),
    onMessage: (line) => {
      const text = z.string().safeParse(line).data;
      if (text !== undefined) report(text);
    },
  });
}
