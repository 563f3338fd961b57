import { type Command, InvalidArgumentError } from 'commander';
import { refusal } from '../../books/core/operator-refusals.ts';
import { type EventKind, eventKindOf, eventKinds, eventTypes } from '../../core/event-type.ts';
import { accountsCommand } from './accounts-command.ts';
import { momentOption } from './option-values.ts';

interface ReplayOptions {
  readonly since: number;
  readonly until?: number;
  readonly type?: readonly EventKind[];
}

/** Adds `events` to the command line: what is sent to the receiver of events. */
export function eventsCommand(program: Command): void {
  const group = program.command('events').description('events that are sent to their receiver');
  accountsCommand<ReplayOptions>(
    group
      .command('replay')
      .description('send events again, with the same ids, after the waiting ones')
      .requiredOption(
        '--since <when>',
        'only requests started, or rows written, at or after this UTC day or moment',
        momentOption,
      )
      .option('--until <when>', 'only before this UTC day or moment (default: now)', momentOption)
      .option('--type <type>', 'only this type; repeat for more', typeOption),
    async (accounts, { since, until = Date.now(), type: kinds = eventKinds }) => {
      if (since >= until) throw refusal('times_reversed');
      const replayed = await accounts.replayEvents({ since, until, kinds }, Date.now());
      if (replayed === undefined) throw refusal('no_subscription');
      const keptSince = await accounts.keptSince();
      const types = replayed.map((kind) => eventTypes[kind]);
      const dropped =
        keptSince > since ? ` Requests before ${new Date(keptSince).toISOString()} were dropped earlier.` : '';
      const times = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
      const text = `The services send ${types.join(', ')} from ${times.since} to ${times.until} again.${dropped}`;
      return { json: { ...times, types }, text };
    },
  );
}

function typeOption(text: string, before: readonly EventKind[] = []): readonly EventKind[] {
  const kind = eventKindOf(text);
  if (kind === undefined) throw new InvalidArgumentError(`It must be one of ${Object.values(eventTypes).join(', ')}.`);
  return [...before, kind];
}
