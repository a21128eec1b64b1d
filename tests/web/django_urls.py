"""The paths of a Django project beside the site: none."""

urlpatterns = []
