import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take half a minute or more, and of the unit tests those that take ten seconds: they begin before all others of their run,
 * so that no worker is left alone with one at the end. Those that wait stand between those that compute: side by side they take little
 * longer than alone. A file that is missing here costs time and nothing else.
 */
export const longFiles: readonly string[] = [
  ...['test/golden/inline-reasoning', 'src/main', 'test/golden/messages-answers', 'src/cli/commands/backup'],
  ...['src/store/outage', 'src/cli/commands/ledger-export', 'src/admission/address-gate'],

  ...['test/envoy/money-storm-postgres', 'test/envoy/edge-grpc-clients', 'test/envoy/fault-sweep-parallel'],
  ...['test/envoy/money-storm-sqlite', 'test/envoy/uploads', 'test/envoy/fault-sweep-text', 'test/envoy/watchdog'],
  ...['test/envoy/prefix-caches', 'test/envoy/soak', 'test/envoy/reservations', 'test/envoy/fault-sweep-variants'],
  ...['test/envoy/start', 'test/envoy/reservations-replicas', 'test/envoy/chaos', 'test/envoy/fault-sweep-stall'],
  ...['test/envoy/replicas', 'test/envoy/fault-sweep-messages', 'test/envoy/http2', 'test/envoy/web-search'],
  ...['test/envoy/fault-sweep-endpoints', 'test/envoy/cut-bytes', 'test/envoy/manifests'],
  ...['test/envoy/hostile-portal'],

  ...['test/kube/controller-outage', 'test/kube/pod', 'test/clients/libraries', 'test/kube/chart-render'],
  ...['test/kube/controller-election', 'test/portal/pages', 'test/kube/controller-conditions', 'test/portal/roles'],
  ...['test/kube/start', 'test/kube/rolling-restart', 'test/kube/rolling-engines'],
  ...['test/kube/same-result', 'test/kube/chart-install', 'test/stores/kill', 'test/stores/kill-sqlite'],
].map((name) => `${name}.test.ts`);

const places = new Map(longFiles.map((file, place) => [file, place]));

/** The order of vitest, after the long files. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const placeOf = ({ moduleId }: TestSpecification): number =>
      places.get(relative(root, moduleId)) ?? longFiles.length;
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
