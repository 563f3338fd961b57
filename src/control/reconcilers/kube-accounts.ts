/** The accounts that objects of a cluster declare: followed in their namespaces, and written by the leader. */
import type { KubeObject } from '../../core/catalog.ts';
import type { Clock } from '../../core/clock.ts';
import { isRefusal, type KubeClient, sentenceOf } from '../kubernetes/client.ts';
import { createEvents, type Events } from '../kubernetes/events.ts';
import { followAccounts } from '../kubernetes/follow-accounts.ts';
import { createKeySecrets } from '../kubernetes/key-secrets.ts';
import { createObjectWriter } from '../kubernetes/objects.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import { type AccountController, type AccountsParts, startAccountController } from './account-controller.ts';

interface KubeAccountsOptions extends AccountsParts {
  readonly client: KubeClient;
  /** The gateway's own namespace. */
  readonly namespace: string;
  /** Name of this replica's pod. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: PartLog;
  readonly isLeading: () => boolean;
}

export function openKubeAccounts(options: KubeAccountsOptions): AccountController {
  const { client, namespaces, name, clock, random, log } = options;
  const fault =
    (what: string) =>
    (error: unknown): void =>
      log.warn({ error: sentenceOf(error) }, what);
  const events = new Map<string, Events>(
    namespaces.map((one) => [
      one,
      createEvents({
        ...{ client, clock, random },
        namespace: one,
        instance: name,
        onError: fault('writing an event failed'),
      }),
    ]),
  );
  const followed = followAccounts({
    ...{ client, namespaces, clock, random },
    onChange: (objects) => controller.changed(objects),
    onTroubles: (troubles) => {
      for (const { of, reason } of troubles) log.warn({ watch: 'accounts', of, reason }, 'watch failed');
    },
  });
  const writers = new Map(namespaces.map((one) => [one, createObjectWriter(client, one)]));
  const controller = startAccountController({
    ...{ ...options, followed, secrets: createKeySecrets(client) },
    writerOf: (place) => {
      const write = writers.get(place) ?? createObjectWriter(client, place);
      return { ...write, event: (object: KubeObject<string>, event) => events.get(place)?.report(object, event) };
    },
    isGoneOrChanged: (error) => isRefusal(error, 404, 409),
    onError: fault('reconcile failed'),
  });
  return {
    changed: controller.changed,
    close: async () => {
      await followed.close();
      await controller.close();
      await Promise.all([...events.values()].map((one) => one.close()));
    },
  };
}
