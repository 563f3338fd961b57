import * as z from 'zod';

/**
 * Set in the environment of a program that was started before its arguments are known, so that its modules load in the
 * meantime. Not a setting: settings begin with `WEIR_`.
 */
export const heldVariable = 'HELD_BY_WEIR_START';

/** The message of the supervisor that lets a held program begin. */
const beginMessage = z.object({
  type: z.literal('begin'),
  args: z.array(z.string()),
  /** Added to the environment; null removes a variable. */
  env: z.record(z.string(), z.string().nullable()),
});

export type BeginMessage = z.infer<typeof beginMessage>;

/**
 * The arguments of a program: `given`, or those that its supervisor sends if the program is held. Changes the environment as that message
 * says. Ends the process if its supervisor ends before.
 */
export function argumentsOf(given: readonly string[]): Promise<readonly string[]> {
  if (process.env[heldVariable] === undefined) return Promise.resolve(given);
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const leave = (): void => process.exit(0);
  const take = (message: unknown): void => {
    const { data } = beginMessage.safeParse(message);
    if (data === undefined) return;
    process.off('message', take);
    process.off('disconnect', leave);
    // A program that this one starts is not held.
    const env: Readonly<Record<string, string | null>> = { ...data.env, [heldVariable]: null };
    for (const [name, value] of Object.entries(env)) {
      if (value === null) delete process.env[name];
      else process.env[name] = value;
    }
    resolve(data.args);
  };
  process.on('disconnect', leave);
  process.on('message', take);
  if (!process.connected) leave();
  return promise;
}
