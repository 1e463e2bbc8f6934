/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles only if our words for NVTX's injection interface are those of the installed headers. */
#if defined(__has_include)
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <stddef.h>

#include "../nvtx_abi.h"

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define FIELD(ours, our_field, theirs, their_field)                                                \
	SAME(offsetof(struct ours, our_field), offsetof(theirs, their_field));                     \
	SAME(sizeof(((struct ours *)0)->our_field), sizeof(((theirs *)0)->their_field))

SAME(NVTX_ABI_NO_LEVEL, NVTX_NO_PUSH_POP_TRACKING);
SAME(NVTX_ABI_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_ABI_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_ABI_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
#define CORE(name)  SAME(NVTX_ABI_##name, NVTX_CBID_CORE_##name)
#define CORE2(name) SAME(NVTX_ABI_##name, NVTX_CBID_CORE2_##name)
CORE(MarkEx);
CORE(MarkA);
CORE(MarkW);
CORE(RangeStartEx);
CORE(RangeStartA);
CORE(RangeStartW);
CORE(RangeEnd);
CORE(RangePushEx);
CORE(RangePushA);
CORE(RangePushW);
CORE(RangePop);
CORE2(DomainMarkEx);
CORE2(DomainRangeStartEx);
CORE2(DomainRangeEnd);
CORE2(DomainRangePushEx);
CORE2(DomainRangePop);
CORE2(DomainRegisterStringA);
CORE2(DomainRegisterStringW);
CORE2(DomainCreateA);
CORE2(DomainCreateW);
FIELD(nvtx_callbacks, function_table, NvtxExportTableCallbacks, GetModuleFunctionTable);

SAME(sizeof(struct nvtx_event), sizeof(nvtxEventAttributes_t));
FIELD(nvtx_event, size_bytes, nvtxEventAttributes_t, size);
FIELD(nvtx_event, category, nvtxEventAttributes_t, category);
FIELD(nvtx_event, payload_type, nvtxEventAttributes_t, payloadType);
FIELD(nvtx_event, payload_count, nvtxEventAttributes_t, reserved0);
FIELD(nvtx_event, payload, nvtxEventAttributes_t, payload);
FIELD(nvtx_event, message_type, nvtxEventAttributes_t, messageType);
FIELD(nvtx_event, message, nvtxEventAttributes_t, message);
SAME(NVTX_ABI_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_ABI_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_ABI_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_ABI_PAYLOAD_UNSIGNED_INT64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_ABI_PAYLOAD_INT64, NVTX_PAYLOAD_TYPE_INT64);
SAME(NVTX_ABI_PAYLOAD_UNSIGNED_INT32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(NVTX_ABI_PAYLOAD_INT32, NVTX_PAYLOAD_TYPE_INT32);
SAME(NVTX_ABI_PAYLOAD_EXTENDED, NVTX_PAYLOAD_TYPE_EXT);

SAME(sizeof(struct nvtx_extension), sizeof(nvtxExtModuleInfo_t));
FIELD(nvtx_extension, module, nvtxExtModuleInfo_t, moduleId);
FIELD(nvtx_extension, segment_count, nvtxExtModuleInfo_t, segmentsCount);
FIELD(nvtx_extension, segments, nvtxExtModuleInfo_t, segments);
FIELD(nvtx_segment, slot_count, nvtxExtModuleSegment_t, slotCount);
FIELD(nvtx_segment, slots, nvtxExtModuleSegment_t, functionSlots);
SAME(NVTX_ABI_SLOT_SCHEMA_REGISTER, NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
SAME(NVTX_ABI_SLOT_MARK, NVTX3EXT_CBID_nvtxMarkPayload);
SAME(NVTX_ABI_SLOT_RANGE_PUSH, NVTX3EXT_CBID_nvtxRangePushPayload);
SAME(NVTX_ABI_SLOT_RANGE_POP, NVTX3EXT_CBID_nvtxRangePopPayload);
SAME(NVTX_ABI_SLOT_RANGE_START, NVTX3EXT_CBID_nvtxRangeStartPayload);
SAME(NVTX_ABI_SLOT_RANGE_END, NVTX3EXT_CBID_nvtxRangeEndPayload);
SAME(NVTX_ABI_SLOT_DOMAIN_IS_ENABLED, NVTX3EXT_CBID_nvtxDomainIsEnabled);
FIELD(nvtx_payload, schema, nvtxPayloadData_t, schemaId);
FIELD(nvtx_payload, size_bytes, nvtxPayloadData_t, size);
FIELD(nvtx_payload, bytes, nvtxPayloadData_t, payload);
SAME(sizeof(struct nvtx_schema_entry), sizeof(nvtxPayloadSchemaEntry_t));
FIELD(nvtx_schema_entry, type, nvtxPayloadSchemaEntry_t, type);
FIELD(nvtx_schema_entry, name, nvtxPayloadSchemaEntry_t, name);
FIELD(nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
FIELD(nvtx_schema, valid, nvtxPayloadSchemaAttr_t, fieldMask);
FIELD(nvtx_schema, entries, nvtxPayloadSchemaAttr_t, entries);
FIELD(nvtx_schema, entry_count, nvtxPayloadSchemaAttr_t, numEntries);
FIELD(nvtx_schema, id, nvtxPayloadSchemaAttr_t, schemaId);
SAME(NVTX_ABI_SCHEMA_HAS_ENTRIES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES);
SAME(NVTX_ABI_SCHEMA_HAS_COUNT, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
SAME(NVTX_ABI_SCHEMA_HAS_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_ABI_SCHEMA_FIRST_DYNAMIC, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
#endif
#endif
