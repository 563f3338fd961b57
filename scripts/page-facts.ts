/** The figures and names that pages state in sentences. A page names a fact behind it: `30<!--=failed-keys.tolerated-->`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyFields, maxLabels } from '../src/core/account.ts';
import { identityBounds, maxSubjects } from '../src/core/identity.ts';
import { auditActions, creditFields, usageDimensions } from '../src/books/core/administration.ts';
import { defaultThresholds } from '../src/core/alert.ts';
import { providerEngines } from '../src/core/engine-name.ts';
import { faultKinds } from '../src/core/event.ts';
import { defaultLimits, listBounds } from '../src/core/limits.ts';
import { portBounds } from '../src/core/port-bounds.ts';
import { maxInvitationMs, passwordLength } from '../src/books/core/local-user.ts';
import { scopes } from '../src/books/core/rights.ts';
import { closedAfterHours } from '../src/books/core/statement.ts';
import { outcomeKinds } from '../src/core/settled-request.ts';
import { defaultRates } from '../src/control/envoy/config/edge-listener.ts';
import { listingDelays } from '../src/control/problems/kinds.ts';
import { askEveryMs } from '../src/control/reconcilers/probe-backends.ts';
import { thresholds } from '../src/control/problems/service-problems.ts';
import {
  envoySettingsSchema,
  pickerSettingsSchema,
  portalSettingsSchema,
  settingsSchema,
  startSettingsSchema,
} from '../src/process/settings/settings.ts';
import { settingsOf } from '../src/process/settings/settings-help.ts';
import { histogramBounds } from '../src/books/ledger/usage-rollup.ts';
import { barFacts, barsRun } from './bars-table.ts';
import { alerts } from './monitoring/alerts.ts';

/** A figure, the text of one, or names and figures of a list. */
type Fact = number | string | readonly (number | string)[];

const code = (names: readonly string[]): readonly string[] => names.map((name) => `\`${name}\``);

/** A figure that a file of src declares, with what it is divided by: a constant or a property, which need not be exported. */
function from(path: string, name: string, unit = 1): number {
  const text = readFileSync(join(import.meta.dirname, '..', 'src', path), 'utf8');
  const declared = new RegExp(String.raw`(?<![\w.'])${name}(?:: [\w<>]+)?(?: =|:) '?([\d_.]+(?: \* [\d_.]+)*)`, 'g');
  const values = new Set(
    [...text.matchAll(declared)].map(([, product = '']) =>
      product.split(' * ').reduce((all, factor) => all * Number(factor.replaceAll('_', '')), 1 / unit),
    ),
  );
  const [value] = values;
  if (value === undefined || values.size > 1) throw new Error(`src/${path} declares no figure ${name}, or several`);
  return value;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const kibi = 1024;
const mebi = 1024 * kibi;
const percent = 1 / 100;

const { certificateDays, journal, diskLeft, openFiles } = thresholds;
const thresholdOf = (name: string): number | undefined => alerts.find((alert) => alert.name === name)?.threshold;

/** Every one stands on a page: test/lint/pages.test.ts. */
export const pageFacts: Readonly<Record<string, Fact>> = {
  'failed-keys.tolerated': from('gateway/admission/address-gate.ts', 'tolerated'),
  'failed-keys.window': from('gateway/admission/address-gate.ts', 'windowMs', second),
  'failed-keys.block': from('gateway/admission/address-gate.ts', 'blockMs', second),
  'failed-keys.networks': from('gateway/admission/address-gate.ts', 'maxFailing'),
  'failed-keys.blocked-networks': from('gateway/admission/address-gate.ts', 'maxBlocked'),

  'key.rate': defaultLimits.rate,
  'key.burst': defaultLimits.burst,
  'key.name-length': keyFields.name.maxLength,
  'key.models': listBounds.maxKeyModels,
  'key.grace-without-database': from('books/store/credentials.ts', 'downForMs', minute),
  'key.unused-read-again': from('books/store/credentials.ts', 'maxUnusedKeys'),
  'workspace.in-flight': defaultLimits.maxInFlight,
  'credit.note-length': creditFields.note.maxLength,
  'statements.closed-after': closedAfterHours,
  'workspace.labels': maxLabels,
  'tags.of-request': listBounds.maxRequestTags,
  'tags.names': listBounds.maxTagNames,
  'tags.values': listBounds.maxTagValues,
  'tags.budgets': listBounds.maxTagBudgets,
  'workspace.keys': listBounds.maxKeys,
  'workspace.members': listBounds.maxMembers,
  'namespace.workspaces': listBounds.maxWorkspaces,
  identities: listBounds.maxIdentities,
  'identity.subjects': maxSubjects,
  'identity.rule-length': identityBounds.maxRuleLength,
  'service-accounts': listBounds.maxServiceAccounts,
  users: listBounds.maxLocalUsers,
  'user.password-min': passwordLength.min,
  'user.password-max': passwordLength.max,
  'user.invitation-days': maxInvitationMs / 86_400_000,
  'service-accounts.workspaces': listBounds.maxServiceAccountWorkspaces,
  'portal.sessions': listBounds.maxSessions,
  'alert.messages': listBounds.maxAlertMessages,
  'audit.actions': code(auditActions),
  'usage.dimensions': code(usageDimensions),
  'request.outcomes': code(outcomeKinds),
  'engines.providers': code([...providerEngines]),
  'attempt.faults': code(faultKinds),
  'first-token.buckets': histogramBounds.first_token,
  'duration.buckets': histogramBounds.duration,

  'start.ops-port': String(settingsOf(startSettingsSchema.pick({ WEIR_OPS_PORT: true }))[0]?.initial),
  'edge.connections': from('programs/local/envoy-files.ts', 'maxTotalConnections'),
  'edge.connections-per-address': from('programs/local/envoy-files.ts', 'connectionsPerAddress'),
  'edge.flood-rate': defaultRates.flood.perSecond,
  'edge.flood-burst': defaultRates.flood.burst,
  'edge.catalog-rate': defaultRates.models.perMinute,
  'edge.catalog-burst': defaultRates.models.burst,
  'edge.idle': from('control/envoy/config/edge-listener.ts', 'idle_timeout'),
  'edge.head': from('control/envoy/config/edge-listener.ts', 'request_headers_timeout'),
  'edge.handshake': from('control/envoy/config/edge-listener.ts', 'transport_socket_connect_timeout'),
  'edge.unread': from('control/envoy/config/edge-listener.ts', 'stream_flush_timeout'),

  'body.size': from('gateway/admission/uploads.ts', 'maxBodyBytes', mebi),
  'body.values': from('gateway/request/prepare.ts', 'maxDepth: Infinity, maxValues'),
  'embeddings.inputs': from('gateway/dialects/embeddings/read-request.ts', 'maxInputs'),
  'embeddings.side-by-side': from('gateway/request/call-pieces.ts', 'maxSideBySide'),
  'body.silence': from('gateway/admission/uploads.ts', 'stalledTicks'),
  'body.pace': from('gateway/admission/uploads.ts', 'minBytes', kibi),
  'body.pace-window': from('gateway/admission/uploads.ts', 'paceTicks'),
  'body.step': from('core/exchange.ts', 'uploadStepBytes', kibi),

  'answer.event': from('gateway/dialects/sse.ts', 'maxEventLength'),
  'answer.size': from('gateway/dialects/engine/read-response.ts', 'maxAnswerBytes', mebi),
  'answer.size-with-logprobs': from('gateway/dialects/engine/read-response.ts', 'maxAnswerBytesWithLogprobs', mebi),
  'answer.decoded': from('gateway/egress/decode-answer.ts', 'maxDecodedBytes', mebi),
  'answer.malformed': from('gateway/dialects/engine/read-response.ts', 'maxMalformed'),
  'attempts.failed': from('gateway/dispatch/tried.ts', 'maxFailures'),
  'attempts.of-route': from('gateway/dispatch/tried.ts', 'maxAttempts'),
  'silence.whole-answer-factor': from('gateway/request/call-model.ts', 'wholeAnswerIdleFactor'),
  'overload.crowded': from('gateway/admission/workspace-shares.ts', 'crowdedShare', percent),
  'overload.open-requests': from('gateway/admission/overload.ts', 'maxOpenRequests'),
  'reservation.least': from('gateway/metering/expected-output.ts', 'minExpected'),
  'reservation.without-cap': from('gateway/metering/expected-output.ts', 'plain'),
  'reservation.reasoning': from('gateway/metering/expected-output.ts', 'reasoning'),
  'reservation.of-cap': from('gateway/metering/expected-output.ts', 'mostOfCap'),
  'reservation.update': from('gateway/metering/settle.ts', 'accrueEveryMs'),
  'usage.template-tokens': from('gateway/metering/prompt-bound.ts', 'maxTemplateTokens'),
  'usage.longest-token': from('gateway/core/count-tokens.ts', 'usualMaxTokenBytes'),
  'usage.unseen-tokens': from('gateway/metering/check-usage.ts', 'unseenTokens'),
  'journal.size': from('books/store/open-store.ts', 'usualJournalBytes', mebi),
  'valkey.late-answers': from('gateway/rate-limits/valkey-link.ts', 'tolerated'),
  'valkey.lease': from('gateway/rate-limits/valkey-link.ts', 'leaseMs', second),

  'alert.thresholds': defaultThresholds,
  'alert.most-thresholds': listBounds.maxThresholds,
  'events.batch': from('books/outbox/next-messages.ts', 'maxEvents'),
  'events.late': thresholds.lagMs / 60_000,
  'webhook.timeout': from('gateway/egress/send-webhook.ts', 'webhookTimeoutMs', second),
  'webhook.first-pause': from('core/event-delivery.ts', 'firstPauseMs', second),
  'webhook.max-asked': from('core/event-delivery.ts', 'maxAskedMs', minute),

  'refusals.rows': from('books/databases/upkeep.ts', 'maxRefusalRows'),
  'refusals.rows-in-minute': from('books/store/refusal-counter.ts', 'maxRowsInMinute'),
  'refusals.samples': from('books/core/refusal.ts', 'maxSamples'),
  'refusals.waiting': from('books/store/refusal-counter.ts', 'maxWaitingRows'),
  'stories.dispatched': from('telemetry/stories/stories.ts', 'maxDispatched'),
  'stories.refused': from('telemetry/stories/stories.ts', 'maxRefused'),

  'notice.days': from('control/catalog/notice.ts', 'noticeMs', day),
  'hosts.refresh': from('control/resolver/follow-hosts.ts', 'refreshMs', second),
  'replica.lease': from('control/kubernetes/replica-leases.ts', 'durationSeconds'),
  'replica.renewal': from('control/kubernetes/replica-leases.ts', 'renewMs', second),
  'catalog.first-reading': from('control/reconcilers/kube-catalog.ts', 'firstReadingTimeoutMs', second),
  'backend.failures-in-row': from('core/observed-catalog.ts', 'failuresInARow'),

  'manifest.file': from('process/bounded-file.ts', 'maxConfigurationBytes', mebi),
  'manifest.documents': from('control/manifests/parse.ts', 'maxDocuments'),
  'manifest.characters': from('control/manifests/parse.ts', 'maxDocumentCharacters', kibi),
  'manifest.words': from('control/manifests/parse.ts', 'maxLexemes'),
  'manifest.values': from('control/manifests/parse.ts', 'maxValues'),
  'manifest.nesting': from('control/manifests/parse.ts', 'maxDepth'),
  'manifest.problems': from('control/catalog/read-object.ts', 'maxProblems'),
  'log.file': from('process/log-file.ts', 'rotateBytes', mebi),
  'log.repeats': from('telemetry/ops/repeat-limit.ts', 'maxInPeriod'),

  'portal.session': from('portal/authenticate.ts', 'sessionMs', hour),
  'portal.failed-sign-ins': from('portal/failed-sign-ins.ts', 'tolerated'),
  'portal.failed-sign-ins-window': from('portal/failed-sign-ins.ts', 'windowMs', minute),
  'portal.connections-per-address': portBounds.portal.maxPerAddress,
  'portal.connections': portBounds.portal.maxConnections,
  'portal.requests-of-session': from('portal/requests-of-person.ts', 'maxOfSession'),
  'portal.requests-of-person': from('portal/requests-of-person.ts', 'maxOfPerson'),
  'portal.requests-waiting': from('portal/requests-of-person.ts', 'maxWaiting'),
  'portal.chats-of-person': from('portal/requests-of-person.ts', 'maxChatsOfPerson'),
  'portal.streams-of-session': from('portal/event-hub.ts', 'maxOfSession'),
  'portal.streams-of-person': from('portal/event-hub.ts', 'maxOfPerson'),
  'portal.head': portBounds.portal.maxHeadMs / second,
  'portal.request': portBounds.portal.maxRequestMs / second,
  'portal.sign-in-body': from('portal/routes/session.ts', 'bodyLimit', kibi),
  'portal.body': from('portal/server.ts', 'bytes', kibi),
  'portal.body-values': from('portal/server.ts', 'maxValues'),
  'portal.body-levels': from('portal/server.ts', 'maxDepth'),
  'portal.playground-body': from('portal/routes/playground.ts', 'bodyBytes', mebi),
  'portal.page': from('portal/api/values.ts', 'maxPerPage'),
  'portal.usage-lines': from('portal/api/usage.ts', 'maxLines'),
  'portal.overlap-hours': from('portal/api/keys.ts', 'maxOverlapHours'),
  'portal.prices': from('portal/routes/model-history.ts', 'maxPrices'),
  'portal.history-days': from('portal/routes/model-history.ts', 'shownDays'),
  'portal.problems': from('portal/event-feed.ts', 'maxProblems'),
  'portal.events-of-page': from('telemetry/ops/event-streams.ts', 'maxOfPage'),
  'portal.events-gathered': from('telemetry/ops/event-streams.ts', 'gatherMs'),
  'portal.scopes': code(scopes),
  'service-account.days': from('programs/commands/service-account.ts', 'usualMs', day),

  'share.pause-factor': from('core/share-work.ts', 'pauseFactor'),
  'share.max-pause': from('core/share-work.ts', 'maxPauseMs', second),

  'problems.listed': from('control/problems/track-problems.ts', 'maxListed'),
  'problems.of-metric': from('telemetry/ops/gauges.ts', 'maxNamed'),
  'problems.flickering-after': listingDelays['backend-down'].afterMs / second,
  'problems.flickering-clear': listingDelays['backend-down'].clearMs / second,
  'problems.rates-clear': listingDelays['backend-failing'].clearMs / second,
  'probes.seconds': askEveryMs / second,
  'problems.lag-after': listingDelays['replica-behind'].afterMs / second,
  'problems.share-begin': from('control/problems/error-rates.ts', 'begin', percent),
  'problems.share-end': from('control/problems/error-rates.ts', 'end', percent),
  'problems.failures': from('control/problems/error-rates.ts', 'enoughFailures'),
  'burn.fast': (thresholdOf('WeirErrorBudgetBurnFast') ?? 0) / percent,
  'burn.slow': (thresholdOf('WeirErrorBudgetBurnSlow') ?? 0) / percent,
  'budget.nearly-spent': (thresholdOf('WeirBudgetNearlySpent') ?? 0) / percent,
  'journal.filling': journal.begin / percent,
  'journal.filling-end': journal.end / percent,
  'disk.filling': Math.round(diskLeft.begin / percent),
  'disk.filling-end': Math.round(diskLeft.end / percent),
  'files.filling': Math.round(openFiles.begin / percent),
  'files.filling-end': Math.round(openFiles.end / percent),
  'certificate.days': certificateDays,
  'certificate.ends': thresholdOf('WeirCertificateEnds') ?? 0,

  'rerank.documents': from('gateway/dialects/rerank/schema.ts', 'maxDocuments'),
  'web-search.searches': from('gateway/web-search/next-step.ts', 'maxSearches'),
  'web-search.pages': from('gateway/web-search/fit-sources.ts', 'maxPages'),
  'web-search.cited': from('core/web-search.ts', 'maxCitedText'),
  'web-search.query': from('gateway/web-search/next-step.ts', 'maxQuery'),
  'web-search.timeout': from('gateway/web-search/providers/create-provider.ts', 'timeoutMs', second),
  'pool.blocks': from('gateway/routing/pool/held-blocks.ts', 'maxBlocks'),
  'pool.report-blocks': from('gateway/routing/pool/pools.ts', 'maxBlocks'),
  'pool.report-prompts': from('gateway/routing/pool/pools.ts', 'maxPrompts'),
  'pool.passed-over': from('gateway/routing/pool/pool-state.ts', 'least'),
  'pool.passed-over-each': from('gateway/routing/pool/pool-state.ts', 'forEach'),
  'picker.body': from('tools/picker/picked-exchange.ts', 'maxBodyBytes', mebi),
  'picker.body-here': from('tools/picker/read-prompt.ts', 'maxBodyHereBytes', kibi),
  'picker.waiting': from('tools/picker/picker-server.ts', 'maxHeldBytes', mebi),
  'picker.buffered': from('tools/picker/picker-server.ts', 'maxBufferedBytes', mebi),
  'picker.message': from('tools/picker/picker-server.ts', 'maxMessageBytes', mebi),
  'picker.senders': from('tools/picker/senders.ts', 'maxSenders'),
  'picker.answer': from('tools/picker/read-answer.ts', 'maxJsonBytes', kibi),
  'demand.min-active': from('gateway/core/backend-scale.ts', 'minActive'),
  'demand.active': from('gateway/core/backend-demand.ts', 'activeMs', second),
  'demand.report-fresh': from('gateway/rate-limits/valkey-scripts.ts', 'demandFreshMs', second),
  'bars.rounds': barsRun.rounds,
  'bars.cores': barsRun.cores,
  'bars.load': barsRun.load,
  ...barFacts(['lone-word', 'json', 'prompt-median', 'idle-memory', 'streams-memory']),
  'demand.objective': from('gateway/routing/pool/backend-demands.ts', 'defaultObjectiveMs', second),
};

/** Other settings of `weir start` are those of the programs that it starts. */
const ofStartAlone = startSettingsSchema.pick({ WEIR_WATCHDOG_SECONDS: true });

const settings = new Map(
  [ofStartAlone, portalSettingsSchema, envoySettingsSchema, pickerSettingsSchema, settingsSchema]
    .flatMap((schema) => settingsOf(schema))
    // A port is a name, and has no commas.
    .map(({ name, initial }) => [name, name.endsWith('_PORT') ? String(initial) : initial]),
);

/** A fact as pages write it. The name may also be a setting, whose default it then is, or an alert, whose threshold it is. Undefined: no such fact. */
export function factText(name: string): string | readonly string[] | undefined {
  const fact = pageFacts[name] ?? settings.get(name) ?? thresholdOf(name);
  if (fact === undefined) return undefined;
  return typeof fact === 'object' ? fact.map(written) : written(fact);
}

function written(fact: number | string): string {
  return typeof fact === 'number' ? fact.toLocaleString('en-US', { maximumFractionDigits: 6 }) : fact;
}
