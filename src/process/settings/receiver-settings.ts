import { eventTypes } from '../../core/event-type.ts';
import * as form from './setting-forms.ts';

const { setting } = form;

/** The receivers of webhooks and of events. */
export const receiverSettings = {
  WEIR_WEBHOOK_URL: setting(
    form.httpUrl('an address such as https://hooks.example.com/weir').optional(),
    'Receiver of webhooks about thresholds that budgets and balances reach; default: none.',
  ),
  WEIR_WEBHOOK_SECRET_FILE: setting(
    form.text.optional(),
    'Secret that signs webhooks, whsec_ and 24 to 64 bytes in base64, read at each of them; several lines all sign. Needed with WEIR_WEBHOOK_URL.',
  ),
  WEIR_EVENTS_URL: setting(
    form.httpUrl('an address such as https://billing.example.com/weir').optional(),
    'Receiver of events, CloudEvents in batches: each settled request, correction, credit, alert and entry of the audit trail; default: none.',
  ),
  WEIR_EVENTS_SECRET_FILE: setting(
    form.text.optional(),
    'Secret that signs events, in the form of WEIR_WEBHOOK_SECRET_FILE. Needed with WEIR_EVENTS_URL.',
  ),
  WEIR_EVENTS_TYPES: setting(
    form.eventKinds,
    `Types of the events that are sent, with commas between them; default: all, ${Object.values(eventTypes).join(', ')}.`,
  ),
  WEIR_EVENTS_MAX_WAITING: setting(
    form.wholeNumber(1_000, 100_000_000).default(5_000_000),
    'Events that may wait in the database for their receiver, about 40 bytes each; beyond it the oldest ones are dropped, and `weir events replay` sends them again.',
  ),
};
