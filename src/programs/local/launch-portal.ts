import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { localAddressOf } from '../../core/address.ts';
import type { LogLevel } from '../../core/log-level.ts';
import { boundsWithin, portBounds } from '../../core/port-bounds.ts';
import { waitingOverridesFile } from '../../portal/override-keys.ts';
import { readAdminToken } from '../../portal/secrets.ts';
import { openFilesLimit } from '../../process/machine.ts';
import { leaveOpsAddress } from '../../process/ops-addresses.ts';
import { type Child, startChild } from './child.ts';
import { type Own, type StartContext, supervisePart, waitUntilUp } from './gateway.ts';
import { launchProgram, secretsOfStart } from './launch-program.ts';
import { type Activation, listenForProgram } from './socket-activation.ts';
import type { Launched, Supervised } from './supervise.ts';

/** The portal's own message to the program that started it, in addition to those of every program: the portal serves. */
const readyMessage = z.object({ type: z.literal('ready') });

const names = { name: 'The portal', recordedAs: 'the portal', log: 'portal.log' } as const;

interface PortalPlace {
  /** Addresses of the services' ops ports. */
  readonly services: Promise<readonly string[]>;
  /** Where clients call the models, with `/v1`. */
  readonly baseUrl: string;
}

/**
 * Whether the portal has work before somebody opens it: to write the statuses of keys that wait for the database, to learn the token of a
 * database that may be down later, or to check the settings of single sign-on.
 */
function hasWork({ data, settings }: StartContext): boolean {
  const { WEIR_DATABASE_URL: url, WEIR_OIDC_ISSUER: issuer } = settings;
  const { size = 0 } = statSync(waitingOverridesFile(data), { throwIfNoEntry: false }) ?? {};
  return url !== undefined || issuer !== undefined || size > '[]'.length;
}

/**
 * Listens for the portal, and starts it with the first connection, or at once if it has work; from then on, starts it again whenever it
 * ends by itself. Resolves to the address that signs in, or to undefined when the operator wants the gateway to end first.
 */
export async function startPortal(context: StartContext, place: PortalPlace, own: Own): Promise<string | undefined> {
  const { data, stop, settings, report } = context;
  const { WEIR_ADMIN_HOST: host, WEIR_ADMIN_PORT: port, WEIR_ADMIN_TOKEN_FILE: file } = settings;
  const token = file === undefined ? readAdminToken(join(data, 'admin-token'), 'make') : readAdminToken(file, 'refuse');
  const maxWaiting = boundsWithin(portBounds.portal, openFilesLimit()).maxConnections;
  let supervised: Supervised | undefined;
  let opening: Promise<void> | undefined;

  const begin = async (): Promise<Supervised> => {
    const services = await place.services;
    return (supervised = supervisePart(context, names, launchOf(context, { ...place, services, listener })));
  };

  /** A portal that has never served is started again only by the next connection. */
  const open = async (): Promise<void> => {
    const reason = await (await begin()).up;
    if (reason === undefined) return;
    opening = undefined;
    listener.failed();
    if (!stop.aborted) report(`${reason}\nThe next visit to the portal starts it again.`);
  };

  const listener = await listenForProgram({ host, port, maxWaiting, onWaiting: () => void (opening ??= open()) });
  const removeAddress = leaveOpsAddress(data, {
    program: 'portal',
    origin: `http://${localAddressOf(host)}:${listener.port}`,
  });
  own({
    stop: async (graceMs) => {
      listener.close();
      await supervised?.stop(graceMs);
      removeAddress();
    },
  });
  if (hasWork(context)) {
    const begun = begin();
    opening = begun.then(() => undefined);
    await waitUntilUp(await begun, stop);
  }
  return stop.aborted ? undefined : signInUrl(host, listener.port, token);
}

/** How the portal is started, each time. */
function launchOf(
  { data, settings }: StartContext,
  {
    services,
    baseUrl,
    listener,
  }: Pick<PortalPlace, 'baseUrl'> & { readonly services: readonly string[]; readonly listener: Activation },
): (logPath: string) => Launched {
  // A restarted portal keeps the level that its log was set to.
  let logLevel: LogLevel = settings.WEIR_LOG_LEVEL;
  return (logPath) => {
    const { promise: isUp, resolve } = Promise.withResolvers<void>();
    const { child, isAnswering } = launchProgram({
      command: 'portal',
      args: [`--data=${data}`, `--port=${listener.port}`],
      env: {
        ...secretsOfStart,
        ...listener.env(),
        WEIR_LOG_LEVEL: logLevel,
        WEIR_SERVICES: settings.WEIR_SERVICES?.map(({ origin }) => origin).join(',') ?? services.join(','),
        WEIR_PUBLIC_URL: settings.WEIR_PUBLIC_URL ?? baseUrl,
      },
      logPath,
      onLogLevel: (level) => {
        logLevel = level;
      },
      onMessage: (message) => {
        listener.answer(message, child);
        if (!readyMessage.safeParse(message).success) return;
        listener.served(child);
        resolve();
      },
    });
    // On a busy machine, loading the modules takes long after the first answer: until it serves, the limit of a start applies.
    return { child, isUp, isAnswering: () => isUp.then(isAnswering) };
  };
}

/** The part after the `#` stays in the browser: it is in no log and in no request. */
function signInUrl(host: string, port: number, token: string): string {
  return `http://${localAddressOf(host)}:${port}/#token=${encodeURIComponent(token)}`;
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
