import { refusal } from '../../books/core/operator-refusals.ts';
import type { Problem } from '../../control/core/problem.ts';
import { internalToken } from '../../core/internal-token.ts';
import type { ServiceAnswer, LiveServices } from '../../portal/services.ts';
import { systemLookUp } from '../../control/resolver/system-look-up.ts';
import { systemClock } from '../../process/clock.ts';
import { readOpsAddresses } from '../../process/ops-addresses.ts';
import { portalSettingsSchema, startSettingsSchema } from '../../process/settings/settings.ts';
import type { Accounts } from '../../books/store/open-accounts.ts';
import { readSome } from '../../process/settings/read-settings.ts';

/** The data folder of a command that asks running programs. */
export const dataFolder = (given: string | undefined): string =>
  given ?? readSome(process.env, portalSettingsSchema.pick({ WEIR_DATA: true })).WEIR_DATA;

/** The ops ports of the services to ask: from WEIR_SERVICES, else from the data folder. Throws a sentence. */
export function serviceOrigins(data: string | undefined): readonly string[] {
  const { WEIR_SERVICES: given } = readSome(process.env, startSettingsSchema.pick({ WEIR_SERVICES: true }));
  return given?.map(({ origin }) => origin) ?? readOpsAddresses(dataFolder(data), 'services');
}

/** Parses addresses that are separated by commas. Throws a sentence that begins with `name`. */
export function originsIn(name: string, text: string): readonly string[] {
  const read = portalSettingsSchema.shape.WEIR_SERVICES.safeParse(text);
  if (!read.success) {
    throw refusal('field_malformed', { field: name, expected: read.error.issues[0]?.message ?? 'not understood' });
  }
  return read.data.map(({ origin }) => origin);
}

/** A client of the programs at these addresses, with the token of the database. */
export async function openServices(
  accounts: Pick<Accounts, 'sharedSecret'>,
  origins: readonly string[],
  timeoutMs?: number,
): Promise<LiveServices> {
  const token = internalToken(await accounts.sharedSecret());
  // The client needs zod, and loading zod takes longer than reading the ledger.
  const { createServices } = await import('../../portal/services.ts');
  return createServices({
    origins: () => origins,
    token: () => token,
    lookUp: systemLookUp,
    clock: systemClock,
    random: Math.random,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

/** The portal of `weir start` may have to start first. */
const portalTimeoutMs = 10_000;

/** The problems of the portal of a data folder. None: it does not run, or does not answer. */
export async function portalProblems(
  accounts: Pick<Accounts, 'sharedSecret'>,
  data: string | undefined,
): Promise<readonly Problem[]> {
  const [portal] = readOpsAddresses(dataFolder(data), 'portal');
  if (portal === undefined) return [];
  const { createServiceCalls } = await import('../../portal/service-calls.ts');
  const { portalReportSchema } = await import('../../portal/problem-list.ts');
  const token = internalToken(await accounts.sharedSecret());
  const calls = createServiceCalls({ token: () => token, clock: systemClock, timeoutMs: portalTimeoutMs });
  const report = await calls.read(portal, 'problems', portalReportSchema).catch(() => undefined);
  return report?.problems ?? [];
}

/** The programs that did not answer, and why. */
export function silentOnes(services: readonly ServiceAnswer[]): readonly string[] {
  return services.flatMap(({ service, answers, problem }) =>
    answers ? [] : [`${service} (${problem ?? 'no answer'})`],
  );
}
