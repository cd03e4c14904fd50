#include "lib/schema.h"

static bool wrong(struct st_buf *why, const char *sentence, const char *detail) {
	st_buf_addf(why, "%s%s", sentence, detail);
	return false;
}

static bool is_of_type(yyjson_val *value, const char *type) {
	if (strcmp(type, "integer") == 0)
		return yyjson_is_int(value);
	if (strcmp(type, "number") == 0)
		return yyjson_is_num(value);
	if (strcmp(type, "boolean") == 0)
		return yyjson_is_bool(value);
	return strcmp(yyjson_get_type_desc(value), type) == 0;
}

static bool type_fits(yyjson_val *types, yyjson_val *value) {
	size_t i, max;
	yyjson_val *type;
	if (yyjson_is_str(types))
		return is_of_type(value, yyjson_get_str(types));
	yyjson_arr_foreach(types, i, max, type) {
		if (is_of_type(value, yyjson_get_str(type)))
			return true;
	}
	return false;
}

static bool is_listed(yyjson_val *choices, yyjson_val *value) {
	size_t i, max;
	yyjson_val *choice;
	yyjson_arr_foreach(choices, i, max, choice) {
		if (yyjson_equals(choice, value))
			return true;
	}
	return false;
}

static bool members_fit(yyjson_val *schema, yyjson_val *object, struct st_buf *why) {
	yyjson_val *properties = yyjson_obj_get(schema, "properties"), *key, *value;
	size_t i, max;
	yyjson_arr_iter required = yyjson_arr_iter_with(yyjson_obj_get(schema, "required"));
	while ((key = yyjson_arr_iter_next(&required))) {
		if (!yyjson_obj_get(object, yyjson_get_str(key)))
			return wrong(why, "without the required member ", yyjson_get_str(key));
	}
	if (!properties)
		return true;
	yyjson_obj_foreach(object, i, max, key, value) {
		yyjson_val *property = yyjson_obj_get(properties, yyjson_get_str(key));
		if (!property)
			return wrong(why, "with a member that is not listed: ", yyjson_get_str(key));
		if (!schema_accepts(property, value, why))
			return wrong(why, ", in ", yyjson_get_str(key));
	}
	return true;
}

bool schema_accepts(yyjson_val *schema, yyjson_val *value, struct st_buf *why) {
	yyjson_val *type = yyjson_obj_get(schema, "type"), *choices = yyjson_obj_get(schema, "enum");
	yyjson_val *items = yyjson_obj_get(schema, "items"), *item;
	size_t i, max;
	if (type && !type_fits(type, value))
		return wrong(why, "of the wrong type: ", yyjson_get_type_desc(value));
	if (choices && !is_listed(choices, value))
		return wrong(why, "none of the choices: ",
		             yyjson_is_str(value) ? yyjson_get_str(value) : yyjson_get_type_desc(value));
	if (yyjson_is_arr(value) && items) {
		yyjson_arr_foreach(value, i, max, item) {
			if (!schema_accepts(items, item, why))
				return wrong(why, ", in an item", "");
		}
	}
	return !yyjson_is_obj(value) || members_fit(schema, value, why);
}

static bool is_known_word(const char *word) {
	static const char *const words[] = {
		"$schema",       "type",          "properties",
		"required",      "enum",          "items",
		"description",   "default",       "additionalProperties",
		"minProperties", "maxProperties", "minimum",
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(words[i], word) == 0)
			return true;
	}
	return false;
}

static bool is_known_type(yyjson_val *type) {
	static const char *const types[] = {"string", "integer", "boolean",
	                                    "object", "array",   "number"};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (yyjson_equals_str(type, types[i]))
			return true;
	}
	return false;
}

static bool types_are_known(yyjson_val *types) {
	size_t i, max;
	yyjson_val *type;
	if (!yyjson_is_arr(types))
		return is_known_type(types);
	yyjson_arr_foreach(types, i, max, type) {
		if (!is_known_type(type))
			return false;
	}
	return true;
}

bool schema_is_known(yyjson_val *schema, struct st_buf *why) {
	size_t i, max;
	yyjson_val *key, *value, *type = yyjson_obj_get(schema, "type");
	if (!yyjson_is_obj(schema))
		return wrong(why, "a schema that is not an object", "");
	if (type && !types_are_known(type))
		return wrong(why, "an unknown type", "");
	yyjson_obj_foreach(schema, i, max, key, value) {
		if (!is_known_word(yyjson_get_str(key)))
			return wrong(why, "an unknown word: ", yyjson_get_str(key));
	}
	yyjson_obj_iter members = yyjson_obj_iter_with(yyjson_obj_get(schema, "properties"));
	while ((key = yyjson_obj_iter_next(&members))) {
		value = yyjson_obj_iter_get_val(key);
		if (!schema_is_known(value, why))
			return wrong(why, ", in ", yyjson_get_str(key));
	}
	yyjson_val *items = yyjson_obj_get(schema, "items");
	return !items || schema_is_known(items, why);
}
