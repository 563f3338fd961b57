import { eventTypes } from '../../core/event-type.ts';
import * as form from './setting-forms.ts';

const { setting } = form;

/** The receivers of webhooks and of events. */
export const receiverSettings = {
  WEIR_WEBHOOK_URL: setting(
    form.httpUrl('an address such as https://hooks.example.com/weir').optional(),
    'Receiver of webhooks about reached thresholds of budgets and balances; default: none.',
  ),
  WEIR_WEBHOOK_SECRET_FILE: setting(
    form.text.optional(),
    'Secret that signs webhooks, whsec_ and 24 to 64 bytes in base64, read at each webhook; with several lines, each one signs. Needed with WEIR_WEBHOOK_URL.',
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
    `Event types to send, separated by commas; default: all, ${Object.values(eventTypes).join(', ')}.`,
  ),
  WEIR_EVENTS_MAX_WAITING: setting(
    form.wholeNumber(1_000, 100_000_000).default(5_000_000),
    'Maximum number of events that wait in the database for their receiver, about 40 bytes each; beyond it Weir drops the oldest ones, and `weir events replay` sends them again.',
  ),
};
